// SPDX-License-Identifier: BSD-3-Clause
// Hard particles shared among ranks that are threads of this process: they end where one engine
// does, bit for bit, on any number of ranks, and an error of one rank is one of all.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/hard_particles/halo.h"
#include "core/hard_particles/state.h"
#include "support/disks.h"
#include "support/lattices.h"
#include "support/ranks.h"
#include "support/test.h"

using namespace manymove;
using namespace manymove::hard_particles;
using test::Sizes;
using test::Start;

namespace {

// A lattice that is long in the direction in which it is divided.
Start lattice(int dimensions, Sizes sizes, int tile, int height) {
  Start s = dimensions == 2 ? test::lattice({11, height}, {1.09, 1.11}, sizes)
                            : test::lattice({4, 5, height}, {1.09, 1.11, 1.13}, sizes);
  s.parameters.tile.fill(tile);
  s.parameters.moves_per_cell = 5;
  s.parameters.seed = 29;
  return s;
}

// Changes the last edge to a length, and the others by the same factor.
void scale(Start& s, double edge) {
  const double factor = edge / s.parameters.box[s.parameters.dimensions - 1];
  for (double& length : s.parameters.box) length *= factor;
  for (double& r : s.positions) r *= factor;
}

std::unique_ptr<Engine> engine_of(Communicator& ranks, const Start& s, const Snapshot& whole) {
  return make_engine(ranks.rank() == 0 ? &whole : nullptr, s.particles, s.parameters, "cpu", 1,
                     ranks);
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

// Disks and spheres whose ranks have errors.
std::vector<Start> both() { return {lattice(2, Sizes::one, 5, 58), lattice(3, Sizes::one, 4, 40)}; }

}  // namespace

TEST("particles of any number of ranks end where those of one do") {
  for (const int dimensions : {2, 3})
    for (const Sizes sizes : {Sizes::one, Sizes::additive, Sizes::table}) {
      const Start s = lattice(dimensions, sizes, sizes == Sizes::one ? 4 : 6, 97);
      const Snapshot whole = s.snapshot();
      const hard_particles::Sampling sampling{1.0 / 64, 9, 2, 6};
      const auto alone = make_engine(whole, s.particles, s.parameters, "cpu", 1);
      alone->set_sampling(sampling);
      alone->run(25);
      std::vector<std::uint64_t> cycles;
      const auto rows = alone->take_rows(cycles);
      CHECK_EQUAL(cycles.size(), std::size_t{4});
      const Snapshot end = alone->snapshot();
      const std::uint64_t hash = alone->state_hash(), moves = alone->counters().accepted_moves;
      const auto histogram = alone->contact_histogram(0.05, 20);
      std::vector<double> expected(s.positions.size());
      alone->positions(expected.data());
      for (const int ranks : {2, 3, 4, 8})
        test::run_communicators(ranks, [&](Communicator& communicator) {
          const auto engine = engine_of(communicator, s, whole);
          engine->set_sampling(sampling);
          engine->run(25);
          CHECK_EQUAL(engine->state_hash(), hash);
          CHECK_EQUAL(engine->counters().accepted_moves, moves);
          std::vector<std::uint64_t> at;
          CHECK(engine->take_rows(at) == rows);
          CHECK(at == cycles);
          CHECK(engine->contact_histogram(0.05, 20) == histogram);
          const Snapshot found = engine->snapshot();
          CHECK(found.origin == end.origin);
          if (communicator.rank() == 0) {
            CHECK(found.places == end.places);
            CHECK(found.cells == end.cells && found.ids == end.ids);
          } else {
            CHECK(found.places.empty() && found.cells.empty() && found.ids.empty());
          }
          std::vector<double> positions(s.positions.size());
          engine->positions(positions.data());
          CHECK(positions == expected);
          std::int64_t own = 0;
          for (const hard_particles::ParticlePosition& each : engine->own_positions()) {
            for (int a = 0; a < dimensions; ++a)
              CHECK_EQUAL(each.r[static_cast<std::size_t>(a)],
                          expected[static_cast<std::size_t>(dimensions) * each.particle +
                                   static_cast<std::size_t>(a)]);
            ++own;
          }
          communicator.sum(&own, 1);
          CHECK_EQUAL(own, static_cast<std::int64_t>(s.particles));
          CHECK_EQUAL(engine->max_overlap(), 0.0);
        });
    }
}

TEST("spheres continue from a snapshot on other numbers of ranks") {
  const Start s = lattice(3, Sizes::table, 5, 61);
  const Snapshot whole = s.snapshot();
  const auto alone = make_engine(whole, s.particles, s.parameters, "cpu", 1);
  alone->run(7);
  Snapshot half;
  test::run_communicators(2, [&](Communicator& communicator) {
    const auto engine = engine_of(communicator, s, whole);
    engine->run(7);
    Snapshot found = engine->snapshot();
    if (communicator.rank() == 0) half = std::move(found);
  });
  check_snapshot(half, s.particles, s.parameters);
  CHECK_EQUAL(make_engine(half, s.particles, s.parameters, "cpu", 1)->state_hash(),
              alone->state_hash());
  alone->run(9);
  const std::uint64_t hash = alone->state_hash();
  for (const int ranks : {3, 4})
    test::run_communicators(ranks, [&](Communicator& communicator) {
      const auto engine = engine_of(communicator, s, half);
      engine->run(9);
      CHECK_EQUAL(engine->state_hash(), hash);
    });
}

TEST("constant pressure and swap moves on any number of ranks are those of one") {
  for (const int dimensions : {2, 3})
    for (const bool pressure : {false, true})
      for (const bool swap : {false, true}) {
        if (!pressure && !swap) continue;
        Start s = lattice(dimensions, swap ? Sizes::additive : Sizes::table, 6, 107);
        scale(s, 120.03);  // there the grid changes
        if (pressure) {
          s.parameters.beta_pressure = dimensions == 2 ? 12 : 15;
          s.parameters.volume_delta = 0.003;
          s.parameters.volume_repeats = 5;
          s.parameters.rounds = 2;
        }
        if (swap) {
          s.parameters.swap_rounds = 3;
          s.parameters.swap_range = 0.3;
        }
        const Snapshot whole = s.snapshot();
        const auto alone = make_engine(whole, s.particles, s.parameters, "cpu", 1);
        const Grid first = alone->grid();
        alone->set_volume_sampling(4);
        alone->run(20);
        const std::uint64_t half = alone->state_hash();
        alone->run(20);
        std::vector<std::uint64_t> cycles;
        const auto volumes = alone->take_volumes(cycles);
        const Snapshot end = alone->snapshot();
        const std::uint64_t hash = alone->state_hash();
        const auto histogram = alone->contact_histogram(0.05, 20);
        // The grid changes on the way, and so do the diameters of most particles.
        CHECK_EQUAL(alone->grid().cells[dimensions - 1] < first.cells[dimensions - 1], pressure);
        CHECK_EQUAL(alone->swap_counters().accepted > s.particles / 2, swap);
        std::vector<double> expected(s.positions.size());
        alone->positions(expected.data());
        Snapshot middle;
        for (const int ranks : {2, 3, 4})
          test::run_communicators(ranks, [&](Communicator& communicator) {
            const auto engine = engine_of(communicator, s, whole);
            engine->set_volume_sampling(4);
            engine->run(20);
            CHECK_EQUAL(engine->state_hash(), half);
            Snapshot here = engine->snapshot();
            if (communicator.rank() == 0) middle = std::move(here);
            engine->run(20);
            CHECK_EQUAL(engine->state_hash(), hash);
            std::vector<std::uint64_t> at;
            CHECK(engine->take_volumes(at) == volumes);
            CHECK(at == cycles);
            CHECK(engine->diameters() == end.diameters);
            CHECK_EQUAL(engine->swap_counters().accepted, end.swap_moves.accepted);
            CHECK_EQUAL(engine->volume_counters().accepted, end.volume_moves.accepted);
            CHECK(engine->contact_histogram(0.05, 20) == histogram);
            std::vector<double> positions(s.positions.size());
            engine->positions(positions.data());
            CHECK(positions == expected);
            CHECK_EQUAL(engine->max_overlap(), 0.0);
            const Snapshot found = engine->snapshot();
            if (communicator.rank() == 0) CHECK(found.places == end.places);
            if (communicator.rank() == 0) CHECK(found.diameters == end.diameters);
          });
        // A checkpoint of four ranks continues on one and on three.
        if (swap) s.parameters.diameters = middle.diameters;
        const auto resumed = make_engine(middle, s.particles, s.parameters, "cpu", 1);
        CHECK_EQUAL(resumed->state_hash(), half);
        resumed->run(20);
        CHECK_EQUAL(resumed->state_hash(), hash);
        test::run_communicators(3, [&](Communicator& communicator) {
          const auto engine = engine_of(communicator, s, middle);
          engine->run(20);
          CHECK_EQUAL(engine->state_hash(), hash);
        });
      }
}

TEST("a box that shrinks below what its ranks need is an error of all of them") {
  Start s = lattice(2, Sizes::one, 6, 58);
  scale(s, 72.05);  // with fewer cells there are fewer rows of tiles than ranks
  s.parameters.beta_pressure = 20;
  s.parameters.volume_delta = 0.02;
  const Snapshot whole = s.snapshot();
  const auto body = [&](Communicator& ranks) { engine_of(ranks, s, whole)->run(400); };
  CHECK_THROWS(test::run_communicators(12, body), std::runtime_error,
               "continue from the last checkpoint on fewer ranks");
}

TEST("an error of one rank in a call of an engine is one of all, with its message") {
  struct {
    const char* failing;
    std::function<void(Engine&)> call;
  } const cases[] = {
      {"exchange", [](Engine& engine) { engine.run(5); }},
      {"gather", [](Engine& engine) { engine.run(5); }},
      {"gather", [](Engine& engine) { engine.state_hash(); }},
      {"exchange", [](Engine& engine) { engine.snapshot(); }},
      {"transpose",
       [](Engine& engine) {
         std::vector<double> r(3 * engine.particles());
         engine.positions(r.data());
       }},
  };
  for (const Start& start : both())
    for (const auto& each : cases)
      for (const int culprit : {0, 1, 2}) {
        const Snapshot whole = start.snapshot();
        std::vector<std::string> said(3);
        const auto body = [&](test::Mailboxes& mail, int r) {
          test::InProcess inner(mail, r);
          test::Faulty communicator(inner, culprit);
          const auto engine = engine_of(communicator, start, whole);
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

TEST("an error of one rank while the ranks divide the particles is one of all") {
  for (const Start& start : both())
    for (const char* const failing : {"gather", "transpose", "exchange"}) {
      const Snapshot whole = start.snapshot();
      const auto body = [&](test::Mailboxes& mail, int r) {
        test::InProcess inner(mail, r);
        test::Faulty communicator(inner, 1);
        communicator.failing = failing;
        engine_of(communicator, start, whole);
      };
      CHECK_THROWS(test::run_ranks(3, body), RankFailure, "rank 1 of 3: no memory in");
    }
}

TEST("a box that is too small for the ranks is refused alike on all, with how many it allows") {
  const char* const parts[] = {"strips of whole tiles",
                               "slabs of whole tiles and at least 7 layers"};
  for (const int dimensions : {2, 3}) {
    const Start s = lattice(dimensions, Sizes::one, dimensions == 2 ? 12 : 8, 40);
    const Snapshot whole = s.snapshot();
    const auto run = [&](Communicator& ranks) { engine_of(ranks, s, whole)->run(3); };
    std::string said;
    test::run_communicators(8, [&](Communicator& communicator) {
      try {
        run(communicator);
        CHECK(false);
      } catch (const std::invalid_argument& error) {
        if (communicator.rank() == 0) said = error.what();
        // The ranks may try again.
        const Start larger = lattice(dimensions, Sizes::one, 4, 140);
        engine_of(communicator, larger, larger.snapshot())->run(1);
      }
    });
    const std::string problem = "the box is too small for 8 ranks: ";
    CHECK(said.find(problem + parts[dimensions - 2]) != std::string::npos);
    const int most = std::stoi(said.substr(said.find("allow ") + 6));
    CHECK(most > 1 && most < 8);
    test::run_communicators(most, run);
    const std::string refusal = "too small for " + std::to_string(most + 1) + " ranks";
    CHECK_THROWS(test::run_communicators(most + 1, run), std::invalid_argument, refusal.c_str());
  }
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
