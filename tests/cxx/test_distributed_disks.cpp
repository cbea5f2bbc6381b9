// SPDX-License-Identifier: BSD-3-Clause
// Hard disks shared among ranks that are threads of this process: what the ranks make of a snapshot
// and of each other's errors. That they end where one engine does is tested in test_engines.cpp.
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/hard_particles/halo.h"
#include "support/disks.h"
#include "support/ranks.h"
#include "support/test.h"

using namespace manymove;
using namespace manymove::hard_particles;

namespace {

Parameters parameters() {
  Parameters p;
  p.dimensions = 2;
  p.box[0] = 40;
  p.box[1] = 48;
  p.tile.fill(5);
  p.seed = 3;
  return p;
}

std::vector<double> lattice() {
  std::vector<double> xy;
  for (int i = 0; i < 20; ++i)
    for (int j = 0; j < 24; ++j) xy.insert(xy.end(), {2 * i - 19.5, 2 * j - 23.5});
  return xy;
}

Snapshot start() {
  const auto xy = lattice();
  Repair repair;
  return make_snapshot(xy.data(), xy.size() / 2, parameters(), repair);
}

std::unique_ptr<Engine> engine_of(Communicator& ranks, const Snapshot& whole) {
  return make_engine(ranks.rank() == 0 ? &whole : nullptr, lattice().size() / 2, parameters(),
                     "cpu", 1, ranks);
}

// An engine whose particles cannot be fetched on one of the ranks.
class OnePart final : public test::NoDisks {
 public:
  OnePart(Communicator& ranks, bool fails) : NoDisks(ranks), fails_(fails) {}
  Cells present_cells() const override {
    if (fails_) throw std::runtime_error("no memory");
    return NoDisks::present_cells();
  }

 private:
  bool fails_;
};

}  // namespace

TEST(
    "the snapshot of ranks is that of the whole, on rank 0, before and after any number of "
    "cycles") {
  const Snapshot whole = start();
  for (const int cycles : {0, 1, 7, 30}) {
    const auto alone = make_engine(whole, lattice().size() / 2, parameters(), "cpu", 1);
    alone->run(static_cast<std::uint64_t>(cycles));
    const Snapshot expected = alone->snapshot();
    for (const int ranks : {2, 3, 4})
      test::run_communicators(ranks, [&](Communicator& communicator) {
        const auto engine = engine_of(communicator, whole);
        engine->run(static_cast<std::uint64_t>(cycles));
        const Snapshot found = engine->snapshot();
        CHECK_EQUAL(found.counters.accepted_moves, expected.counters.accepted_moves);
        CHECK(found.origin == expected.origin);
        if (communicator.rank() == 0) {
          CHECK(found.cells == expected.cells);
          CHECK(found.ids == expected.ids);
        } else {
          CHECK(found.cells.empty() && found.ids.empty());
        }
      });
  }
}

TEST("positions of ranks are those of the whole, each rank's own ones are a part of them") {
  const Snapshot whole = start();
  const std::size_t particles = lattice().size() / 2;
  const auto alone = make_engine(whole, particles, parameters(), "cpu", 1);
  alone->run(20);
  std::vector<double> expected(2 * particles);
  alone->positions(expected.data());
  test::run_communicators(3, [&](Communicator& communicator) {
    const auto engine = engine_of(communicator, whole);
    engine->run(20);
    std::vector<double> found(2 * particles);
    engine->positions(found.data());
    CHECK(found == expected);
    std::int64_t own = 0;
    for (const ParticlePosition& disk : engine->own_positions()) {
      CHECK_EQUAL(disk.r[0], expected[2 * disk.particle]);
      CHECK_EQUAL(disk.r[1], expected[2 * disk.particle + 1]);
      ++own;
    }
    communicator.sum(&own, 1);
    CHECK_EQUAL(own, static_cast<std::int64_t>(particles));
    CHECK_EQUAL(engine->max_overlap(), alone->max_overlap());
  });
}

TEST("an error of one rank in a call of an engine is one of all, with its message") {
  const Snapshot whole = start();
  struct {
    const char *name, *failing;
    std::function<void(Engine&)> call;
  } const cases[] = {
      {"run", "exchange", [](Engine& engine) { engine.run(5); }},
      {"counters", "gather", [](Engine& engine) { engine.run(5); }},
      {"hash", "gather", [](Engine& engine) { engine.state_hash(); }},
      {"snapshot", "exchange", [](Engine& engine) { engine.snapshot(); }},
      {"positions", "transpose",
       [](Engine& engine) {
         std::vector<double> xy(2 * engine.particles());
         engine.positions(xy.data());
       }},
  };
  for (const auto& each : cases)
    for (const int culprit : {0, 1, 2}) {
      std::vector<std::string> said(3);
      const auto body = [&](test::Mailboxes& mail, int r) {
        test::InProcess inner(mail, r);
        test::Faulty communicator(inner, culprit);
        const auto engine = engine_of(communicator, whole);
        communicator.failing = each.failing;
        try {
          each.call(*engine);
        } catch (const RankFailure& failure) {
          said[static_cast<std::size_t>(r)] = failure.what();
          CHECK_THROWS(engine->run(1), RankFailure, failure.what());
          throw;
        }
      };
      const std::string expected =
          "rank " + std::to_string(culprit) + " of 3: no memory in " + each.failing;
      CHECK_THROWS(test::run_ranks(3, body), RankFailure, expected.c_str());
      for (const std::string& text : said) CHECK(text == expected);
    }
}

TEST("an error of one rank while the ranks divide the disks is one of all") {
  const Snapshot whole = start();
  for (const char* const failing : {"gather", "transpose", "exchange"})
    CHECK_THROWS(test::run_ranks(3,
                                 [&](test::Mailboxes& mail, int r) {
                                   test::InProcess inner(mail, r);
                                   test::Faulty communicator(inner, 1);
                                   communicator.failing = failing;
                                   engine_of(communicator, whole);
                                 }),
                 RankFailure, "rank 1 of 3: no memory in");
}

TEST("a box that is too small for the ranks is refused alike on all, with how many it allows") {
  Parameters p = parameters();
  p.tile.fill(12);
  const auto xy = lattice();
  Repair repair;
  const Snapshot whole = make_snapshot(xy.data(), xy.size() / 2, p, repair);
  const auto run = [&](Communicator& communicator) {
    make_engine(&whole, xy.size() / 2, p, "cpu", 1, communicator)->run(1);
  };
  std::string said;
  test::run_communicators(5, [&](Communicator& communicator) {
    try {
      run(communicator);
    } catch (const std::invalid_argument& error) {
      if (communicator.rank() == 0) said = error.what();
      engine_of(communicator, start())->run(1);  // the ranks may try again
    }
  });
  CHECK(said.find("the box is too small for 5 ranks") != std::string::npos);
  const int most = std::stoi(said.substr(said.find("allow ") + 6));
  CHECK(most > 1 && most < 5);
  test::run_communicators(most, run);
  const std::string refusal = "too small for " + std::to_string(most + 1) + " ranks";
  CHECK_THROWS(test::run_communicators(most + 1, run), std::invalid_argument, refusal.c_str());
}

TEST("an error in own_positions of one rank reaches the others where they wait next") {
  for (const int culprit : {0, 1, 2}) {
    const std::string expected = "rank " + std::to_string(culprit) + " of 3: no memory";
    const auto body = [&](test::Mailboxes& mail, int r) {
      test::InProcess communicator(mail, r);
      const OnePart engine(communicator, r == culprit);
      CHECK(engine.own_positions().empty());
      engine.state_hash();
    };
    CHECK_THROWS(test::run_ranks(3, body), RankFailure, expected.c_str());
  }
}

TEST("memory of messages that were lost between strips is not used again") {
  // Loses each message, and remembers its memory on both sides.
  class Losing final : public test::InProcess {
   public:
    explicit Losing(test::Mailboxes& mail) : InProcess(mail, 0) {}
    void exchange(const std::vector<Message>& sent, const std::vector<Message>& received) override {
      for (const Message& message : sent) lost.push_back(message.data);
      for (const Message& message : received) lost.push_back(message.data);
      throw std::runtime_error("lost");
    }
    std::vector<void*> lost;
  };
  test::Mailboxes mail(1);
  Losing communicator(mail);
  std::vector<std::byte> message[4];
  for (auto& part : message) part.resize(300);
  CHECK_THROWS(hard_particles::exchange(communicator, message), std::runtime_error, "lost");
  for (auto& part : message) part = {};
  std::vector<std::vector<std::byte>> later;
  for (int k = 0; k < 100; ++k) {
    later.emplace_back(300);
    for (const void* const lost : communicator.lost) CHECK(later.back().data() != lost);
  }
}
