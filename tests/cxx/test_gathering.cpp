// SPDX-License-Identifier: BSD-3-Clause

#include "core/runtime/gathering.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "core/runtime/engine_group.h"
#include "support/test.h"

using manymove::Gathering;

namespace {

struct Counter {
  std::uint64_t value = 0;
  bool broken = false;
};
using Counters = Gathering<Counter>;

// Adds up to three units to each counter that is present; one thread at a time.
class Work {
 public:
  void operator()(const Counters::Requests& all) {
    if (at_work_.exchange(true)) strange = true;
    most = std::max(most, all.size());
    for (auto* const each : all) {
      const std::uint64_t part = std::min<std::uint64_t>(3, each->left);
      if (each->member->broken)
        each->error = std::make_exception_ptr(std::runtime_error("broken"));
      else
        each->member->value += part;
      each->left -= part;
      each->done = each->error || each->left == 0;
    }
    at_work_ = false;
  }
  bool strange = false;
  std::size_t most = 0;

 private:
  std::atomic<bool> at_work_{false};
};

template <class Task>
void in_threads(int threads, Task task) {
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) all.emplace_back([&task, i] { task(i); });
  for (std::thread& each : all) each.join();
}

constexpr std::chrono::microseconds kPatience{100};

}  // namespace

TEST("those who gather get what each has asked for, from one thread at a time") {
  Counters gathering(kPatience);
  Work work;
  std::vector<Counter> counters(40);
  for (std::size_t i = 0; i < counters.size(); ++i) gathering.join();
  std::atomic<std::uint64_t> left{0};
  in_threads(40, [&](int i) {
    for (int k = 0; k < 20; ++k)
      left += gathering.run(counters[static_cast<std::size_t>(i)],
                            static_cast<std::uint64_t>(i + k), work);
    gathering.leave();
  });
  CHECK_EQUAL(left.load(), 0u);
  CHECK(!work.strange);
  for (std::size_t i = 0; i < counters.size(); ++i) CHECK_EQUAL(counters[i].value, 20 * i + 190);
}

TEST("members that are there at the same time are served together") {
  Counters gathering(std::chrono::seconds(20));
  Work work;
  std::vector<Counter> counters(8);
  for (std::size_t i = 0; i < counters.size(); ++i) gathering.join();
  in_threads(8, [&](int i) { gathering.run(counters[static_cast<std::size_t>(i)], 3, work); });
  CHECK_EQUAL(work.most, 8u);
}

TEST("no member waits for a member that has left, or for long for one that is away") {
  Counters gathering(std::chrono::seconds(20));
  Work work;
  Counter counter;
  gathering.join();
  gathering.join();
  std::thread other([&] { gathering.leave(); });
  gathering.run(counter, 7, work);
  other.join();
  CHECK_EQUAL(counter.value, 7u);

  Counters impatient(kPatience);
  impatient.join();
  impatient.join();
  impatient.run(counter, 2, work);
  CHECK_EQUAL(counter.value, 9u);
}

TEST("a member that has to act gets back what is left, and goes on beside the others") {
  Counters gathering(kPatience);
  std::vector<Counter> counters(6);
  for (std::size_t i = 0; i < counters.size(); ++i) gathering.join();
  // A unit for each at a time; the member acts where its value is a multiple of its number.
  const auto work = [&](const Counters::Requests& all) {
    for (auto* const each : all) {
      const auto number = static_cast<std::uint64_t>(each->member - counters.data()) + 1;
      ++each->member->value;
      each->done = --each->left == 0 || each->member->value % number == 0;
    }
  };
  std::vector<std::uint64_t> calls(counters.size());
  in_threads(6, [&](int i) {
    const auto me = static_cast<std::size_t>(i);
    for (std::uint64_t left = 60; left > 0; ++calls[me])
      left = gathering.run(counters[me], left, work);
  });
  for (std::size_t i = 0; i < counters.size(); ++i) {
    CHECK_EQUAL(counters[i].value, 60u);
    CHECK_EQUAL(calls[i], 60 / (i + 1));
  }
}

TEST("a group has one launcher for each type, device and kernel") {
  struct Launcher {
    explicit Launcher(int device) : device(device) {}
    int device;
  };
  struct Another : Launcher {
    using Launcher::Launcher;
  };
  manymove::EngineGroup group;
  const int kernels[2] = {};
  const auto first = group.launcher<Launcher>(0, kernels);
  CHECK(group.launcher<Launcher>(0, kernels) == first);
  CHECK(group.launcher<Launcher>(0, kernels + 1) != first);
  CHECK(group.launcher<Launcher>(1, kernels) != first);
  CHECK_EQUAL(group.launcher<Launcher>(1, kernels)->device, 1);
  CHECK(group.launcher<Another>(0, kernels) != first);
}

TEST("an error of one member is thrown by its thread alone, an error of the work by all") {
  Counters gathering(kPatience);
  Work work;
  std::vector<Counter> counters(12);
  counters[5].broken = true;
  std::vector<std::string> errors(counters.size());
  const auto run = [&](std::size_t i, std::uint64_t units, auto&& what) {
    try {
      gathering.run(counters[i], units, what);
    } catch (const std::runtime_error& error) {
      errors[i] = error.what();
    }
  };
  for (std::size_t i = 0; i < counters.size(); ++i) gathering.join();
  in_threads(12, [&](int i) { run(static_cast<std::size_t>(i), 100, work); });
  for (std::size_t i = 0; i < counters.size(); ++i) {
    CHECK(errors[i] == (i == 5 ? "broken" : ""));
    CHECK_EQUAL(counters[i].value, i == 5 ? 0u : 100u);
  }

  const auto fails = [](const Counters::Requests&) { throw std::runtime_error("lost"); };
  in_threads(12, [&](int i) { run(static_cast<std::size_t>(i), 1, fails); });
  for (const std::string& error : errors) CHECK(error == "lost");
  gathering.run(counters[0], 1, work);
  CHECK_EQUAL(counters[0].value, 101u);
}
