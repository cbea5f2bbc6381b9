// SPDX-License-Identifier: BSD-3-Clause
// Ranks that wait for one another, in simulated time: one thread for each, of which one runs at a
// time, and a clock that advances when all of them rest. Nothing here depends on the machine.
#include "core/runtime/watchdog.h"

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "core/parallel/communicator.h"
#include "support/test.h"

namespace {

using namespace manymove;

constexpr double kLimit = 8;        // seconds
constexpr double kLatency = 0.002;  // of a notice
constexpr double kNever = 1e300;

// Ranks that rest until a time each; the one with the earliest runs, of several the lowest.
class Simulation {
 public:
  explicit Simulation(int ranks)
      : wake_(static_cast<std::size_t>(ranks), 0.0),
        mail_(wake_.size()),
        stopped_(wake_.size(), {kNever, 0.0}) {}

  int ranks() const { return static_cast<int>(wake_.size()); }
  double now() const { return now_; }

  // From its first rest that ends after `from`, the rank does not run before `until`.
  void stop(int rank, double from, double until) { stopped_[index(rank)] = {from, until}; }

  void rest(int rank, double seconds) {
    std::unique_lock lock(mutex_);
    double& wake = wake_[index(rank)];
    wake = now_ + std::max(seconds, 1e-5);
    const auto [from, until] = stopped_[index(rank)];
    if (wake >= from && wake < until) wake = until;
    pass(lock, rank);
  }

  // What each rank throws, or "" if it ends without an error.
  std::vector<std::string> run(const std::function<void(int, Watchdog&)>& body) {
    std::vector<std::string> said(wake_.size());
    std::vector<std::thread> threads;
    running_ = 0;
    for (int r = 0; r < ranks(); ++r)
      threads.emplace_back([&, r] {
        {
          std::unique_lock lock(mutex_);
          changed_.wait(lock, [&] { return running_ == r; });
        }
        Mailbox post(*this, r);
        Ticks clock(*this, r);
        Watchdog watchdog(r, ranks(), post, kLimit, &clock);
        try {
          body(r, watchdog);
        } catch (const std::exception& error) {
          said[index(r)] = error.what();
        }
        std::unique_lock lock(mutex_);
        wake_[index(r)] = kNever;
        choose();
      });
    for (auto& thread : threads) thread.join();
    return said;
  }

 private:
  struct Mailbox final : Post {
    Mailbox(Simulation& simulation, int rank) : simulation(simulation), rank(rank) {}
    void send(int to, const Notice& notice) override {
      simulation.mail_[index(to)].push_back({simulation.now_ + kLatency, notice});
    }
    bool receive(Notice& notice) override {
      auto& mine = simulation.mail_[index(rank)];
      if (mine.empty() || mine.front().first > simulation.now_) return false;
      notice = mine.front().second;
      mine.pop_front();
      return true;
    }
    Simulation& simulation;
    int rank;
  };
  struct Ticks final : Clock {
    Ticks(Simulation& simulation, int rank) : simulation(simulation), rank(rank) {}
    double now() override { return simulation.now_; }
    void rest(double seconds) override { simulation.rest(rank, seconds); }
    Simulation& simulation;
    int rank;
  };

  static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }
  void pass(std::unique_lock<std::mutex>& lock, int rank) {
    choose();
    changed_.wait(lock, [&] { return running_ == rank; });
  }
  void choose() {
    running_ = static_cast<int>(std::min_element(wake_.begin(), wake_.end()) - wake_.begin());
    if (wake_[index(running_)] < kNever) now_ = std::max(now_, wake_[index(running_)]);
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  int running_ = 0;
  double now_ = 0;
  std::vector<double> wake_;                                 // [rank]
  std::vector<std::deque<std::pair<double, Notice>>> mail_;  // [rank], when it arrives
  std::vector<std::pair<double, double>> stopped_;
};

// A collective call: no rank leaves before all have entered.
class Meeting {
 public:
  explicit Meeting(int ranks) : ranks_(ranks) {}
  void operator()(Watchdog& watchdog) {
    const int goal = (entered_++ / ranks_ + 1) * ranks_;
    watchdog.wait([&] { return entered_ >= goal; });
  }

 private:
  int ranks_, entered_ = 0;
};

const char* kSilent =
    "rank 1 of 3 has been silent for 8 s (MANYMOVE_TIMEOUT): ended, hanging or stopped";
using Texts = std::vector<std::string>;

}  // namespace

TEST("a job that is suspended as a whole continues, however long and however often") {
  Simulation simulation(3);
  Meeting meet(3);
  const Texts said = simulation.run([&](int rank, Watchdog& watchdog) {
    for (int k = 1; k <= 5; ++k) {
      // Not all at the same instant, some in a wait in which they have asked, and one at work.
      simulation.stop(rank, simulation.now() + 0.6 * kLimit + 0.1 * rank, 1e5 * k + 0.1 * rank);
      if (rank == 2) simulation.rest(rank, 0.9 * kLimit);
      meet(watchdog);
    }
  });
  CHECK(said == Texts(3));
  CHECK(simulation.now() > 4e5);
}

TEST("a single silent rank is named on all ranks, on itself when it wakes") {
  Simulation simulation(3);
  Meeting meet(3);
  double ended[3];
  simulation.stop(1, 5, 1000);
  const Texts said = simulation.run([&](int rank, Watchdog& watchdog) {
    try {
      for (;;) {
        meet(watchdog);
        simulation.rest(rank, 0.1);
      }
    } catch (const RankFailure& failure) {
      ended[rank] = simulation.now();
      CHECK(!failure.everyone);
      throw;
    }
  });
  CHECK(said == Texts(3, kSilent));
  for (const int rank : {0, 2}) CHECK(ended[rank] > 5 + kLimit && ended[rank] < 5 + kLimit + 7);
  CHECK(ended[1] < 1001);
}

TEST(
    "a rank that is stopped for less than the limit, or answers while it computes, is waited for") {
  Simulation simulation(2);
  Meeting meet(2);
  simulation.stop(1, 5, 5 + 0.9 * kLimit);
  const Texts said = simulation.run([&](int rank, Watchdog& watchdog) {
    simulation.rest(rank, 5);
    meet(watchdog);
    for (int k = 0; k < 100 && rank == 1; ++k) {
      simulation.rest(rank, 0.4 * kLimit);
      watchdog.look();
    }
    meet(watchdog);
  });
  CHECK(said == Texts(2));
}

TEST("a rank that computes without an answer is silent, and ends with the error of the others") {
  Simulation simulation(3);
  Meeting meet(3);
  const Texts said = simulation.run([&](int rank, Watchdog& watchdog) {
    if (rank == 1) {
      simulation.rest(rank, 5 * kLimit);
      watchdog.fail("too late to count");
    }
    meet(watchdog);
  });
  CHECK(said == Texts(3, kSilent));
}

TEST("of several failures at once that of the lowest rank is thrown everywhere") {
  for (const double delay : {0.0, 0.001, 0.02, 0.5}) {
    Simulation simulation(4);
    Meeting meet(4);
    const Texts said = simulation.run([&](int rank, Watchdog& watchdog) {
      if (rank == 1) simulation.rest(rank, delay);  // may hear of the other's first
      if (rank % 2 == 1) watchdog.fail("rank " + std::to_string(rank) + std::string(600, '.'));
      meet(watchdog);
    });
    CHECK(said[0].size() == sizeof Notice::text - 1);
    CHECK(said == Texts(4, said[0]));
    CHECK(said[0].compare(0, 6, delay < kLatency ? "rank 1" : "rank 3") == 0);
  }
}

TEST("ranks that wait for one another are an error that says so") {
  Simulation simulation(3);
  Meeting meet(3), another(3);
  const Texts said = simulation.run([&](int rank, Watchdog& watchdog) {
    simulation.rest(rank, rank);  // at different times
    (rank == 0 ? another : meet)(watchdog);
  });
  CHECK(said == Texts(3,
                      "all 3 ranks have waited for one another for 8 s (MANYMOVE_TIMEOUT): "
                      "they do not make the same calls"));
  CHECK(simulation.now() < 3 * kLimit);
}

TEST("ranks wait for one that computes, not for one another") {
  Simulation simulation(3);
  Meeting meet(3);
  const Texts said = simulation.run([&](int rank, Watchdog& watchdog) {
    for (int k = 0; k < 40 && rank == 2; ++k) simulation.rest(rank, 1), watchdog.look();
    meet(watchdog);
  });
  CHECK(said == Texts(3));
}

TEST("after a failure every call throws it again") {
  Simulation simulation(2);
  const Texts said = simulation.run([&](int rank, Watchdog& watchdog) {
    const auto fails = [&](const std::function<void()>& call) {
      CHECK_THROWS(call(), RankFailure, "spoilt");
    };
    fails([&] {
      if (rank == 0) watchdog.fail("spoilt");
      watchdog.wait([] { return false; });
    });
    fails([&] { watchdog.look(); });
    fails([&] { watchdog.wait([] { return true; }); });
    fails([&] { watchdog.fail("another"); });
    CHECK(!watchdog.can_go_on());  // with this watchdog, but all ranks know
  });
  CHECK(said == Texts(2));
}

TEST("an alarm reaches the other ranks, which take it when they know of it") {
  Simulation simulation(3);
  Meeting meet(3);
  const auto said = simulation.run([&](int rank, Watchdog& watchdog) {
    for (int round = 0; round < 2; ++round) {
      CHECK_EQUAL(watchdog.alarms(), 0);
      meet(watchdog);
      if (rank < 2) watchdog.raise_alarm();
      if (rank == 2)
        while (watchdog.alarms() == 0) simulation.rest(rank, 0.1);
      meet(watchdog);
      watchdog.take_alarms(rank < 2 ? 1 : 2);
    }
  });
  CHECK(said == std::vector<std::string>(3));
}

TEST("a wait for an alarm that no rank raises ends as other waits do") {
  Simulation simulation(2);
  const auto said = simulation.run([&](int, Watchdog& watchdog) { watchdog.take_alarms(1); });
  for (const auto& text : said) CHECK(text.find("have waited for one another") != text.npos);
}

TEST("notices of ranks that do not exist, and texts without an end, do no harm") {
  struct Forged final : Post {
    void send(int to, const Notice&) override { answered.push_back(to); }
    bool receive(Notice& notice) override {
      if (left.empty()) return false;
      notice = left.front();
      left.pop_front();
      return true;
    }
    std::deque<Notice> left;
    std::vector<int> answered;
  } post;
  for (const int kind : {0, 1, 2, 3, 4, 5, 6, -1})
    for (const int sender : {-1, 0, 2, 1 << 30}) {
      Notice& forged = post.left.emplace_back();
      forged = {kind, sender, kind == Notice::kAnswer ? 0 : -1, 1, {}};
      std::fill(forged.text, forged.text + sizeof forged.text, 'x');
    }
  Watchdog watchdog(0, 2, post, kLimit);
  watchdog.look();
  CHECK(post.answered.empty() && post.left.empty());
  CHECK_EQUAL(watchdog.alarms(), 0);
  Notice endless{Notice::kFailed, 1, 1, 0, {}};
  std::fill(endless.text, endless.text + sizeof endless.text, 'x');
  post.left.push_back(endless);
  CHECK_THROWS(watchdog.wait([] { return false; }), RankFailure, std::string(495, 'x').c_str());
}

TEST("what done() throws passes through a wait, which may be made again") {
  Simulation simulation(1);
  const Texts said = simulation.run([&](int, Watchdog& watchdog) {
    int polls = 0;
    CHECK_THROWS(
        watchdog.wait([&] { return ++polls == 500 ? throw std::logic_error("stop") : false; }),
        std::logic_error, "stop");
    watchdog.wait([] { return true; });
  });
  CHECK(said == Texts(1));
}

TEST("MANYMOVE_TIMEOUT is a positive number of seconds") {
  unsetenv("MANYMOVE_TIMEOUT");
  CHECK(Watchdog::timeout() == 60);
  setenv("MANYMOVE_TIMEOUT", "2.5", 1);
  CHECK(Watchdog::timeout() == 2.5);
  for (const char* wrong : {"", "0", "-1", "nan", "inf", "2 s", "soon"}) {
    setenv("MANYMOVE_TIMEOUT", wrong, 1);
    CHECK_THROWS(Watchdog::timeout(), std::invalid_argument, "MANYMOVE_TIMEOUT is \"");
  }
  unsetenv("MANYMOVE_TIMEOUT");
}

// ---- agreement of communicators ----

namespace {

// What together() and collective() ask for: all ranks leave what they have at a place of their own.
class Table final : public Communicator {
 public:
  Table(std::vector<std::vector<char>>& places, Meeting& meet, Watchdog& watchdog)
      : places_(places), meet_(meet), watchdog_(watchdog) {}
  int rank() const override { return watchdog_.rank(); }
  int ranks() const override { return watchdog_.ranks(); }
  Watchdog& watchdog() override { return watchdog_; }
  void gather(const void* mine, void* all, std::size_t bytes) override {
    const auto* first = static_cast<const char*>(mine);
    places_[static_cast<std::size_t>(rank())].assign(first, first + bytes);
    meet_(watchdog_);
    auto* to = static_cast<char*>(all);
    for (const auto& place : places_) to = std::copy(place.begin(), place.end(), to);
    meet_(watchdog_);
  }
  void transpose(const std::int64_t*, std::int64_t*) override {}
  void exchange(const std::vector<Message>&, const std::vector<Message>&) override {}

 private:
  std::vector<std::vector<char>>& places_;
  Meeting& meet_;
  Watchdog& watchdog_;
};

Texts with_communicators(int ranks, const std::function<void(Communicator&)>& body) {
  Simulation simulation(ranks);
  Meeting meet(ranks);
  std::vector<std::vector<char>> places(static_cast<std::size_t>(ranks));
  return simulation.run([&](int, Watchdog& watchdog) {
    Table table(places, meet, watchdog);
    body(table);
  });
}

}  // namespace

TEST("a task that fails on some ranks fails on all with the lowest rank's error and type") {
  const Texts said = with_communicators(4, [](Communicator& all) {
    const auto fails = [&](auto error, auto as_error, const char* text) {
      using Error = decltype(as_error);
      CHECK_THROWS(together(all,
                            [&] {
                              if (all.rank() % 2) error(all.rank());
                            }),
                   Error, text);
    };
    const auto name = [](int rank) { return "rank " + std::to_string(rank); };
    fails([&](int r) { throw std::invalid_argument(name(r)); }, std::invalid_argument(""),
          "rank 1");
    fails([&](int r) { throw std::runtime_error(name(r)); }, std::runtime_error(""), "rank 1");
    fails([&](int r) { throw std::out_of_range(name(r)); }, std::logic_error(""), "rank 1");
    fails([&](int) { throw std::bad_alloc(); }, std::bad_alloc(), "out of memory");
    together(all, [] {});  // it stays usable
  });
  CHECK(said == Texts(4));
}

TEST("an error of one rank in a collective phase is one of all ranks") {
  // Before, in the middle of and after what the others wait for.
  for (int when = 0; when < 3; ++when) {
    const Texts said = with_communicators(3, [&](Communicator& all) {
      collective(all, [&] {
        for (int step = 0; step < 3; ++step) {
          if (step == when && all.rank() == 2) throw std::bad_alloc();
          std::int64_t value = step;
          if (step < 2) all.maximum(&value, 1);
        }
      });
    });
    CHECK(said == Texts(3, "rank 2 of 3: out of memory"));
  }
}

TEST("what all ranks throw together passes through a collective phase") {
  const Texts said = with_communicators(2, [](Communicator& all) {
    CHECK_THROWS(
        collective(all, [&] { together(all, [] { throw std::invalid_argument("wrong"); }); }),
        std::invalid_argument, "wrong");
    collective(all, [] {});
  });
  CHECK(said == Texts(2));
}
