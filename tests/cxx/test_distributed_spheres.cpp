// SPDX-License-Identifier: BSD-3-Clause
// Hard spheres and mixtures shared among ranks that are threads of this process: they end where one
// engine does, bit for bit, on any number of ranks.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/hard_particles/engine.h"
#include "core/hard_particles/state.h"
#include "support/ranks.h"
#include "support/test.h"

using namespace manymove;
using namespace manymove::hard_particles;

namespace {

enum class Sizes { one, additive, table };

struct Start {
  Parameters parameters;
  std::vector<double> positions;
  std::size_t particles = 0;
};

// A lattice that is long in the direction in which it is divided.
Start lattice(int dimensions, Sizes sizes, int tile, int height) {
  Start s;
  Parameters& p = s.parameters;
  p.dimensions = dimensions;
  p.tile.fill(tile);
  p.moves_per_cell = 5;
  p.seed = 29;
  int per_edge[3] = {dimensions == 2 ? 11 : 4, dimensions == 2 ? height : 5, height};
  s.particles = 1;
  for (int a = 0; a < dimensions; ++a) {
    p.box[a] = (1.09 + 0.02 * a) * per_edge[a];
    s.particles *= static_cast<std::size_t>(per_edge[a]);
  }
  for (std::size_t i = 0; i < s.particles; ++i) {
    std::size_t rest = i;
    for (int a = 0; a < dimensions; ++a) {
      const auto n = static_cast<std::size_t>(per_edge[a]);
      s.positions.push_back(((static_cast<double>(rest % n) + 0.5) / per_edge[a] - 0.5) * p.box[a]);
      rest /= n;
    }
    if (sizes == Sizes::additive) p.diameters.push_back(i == 0 ? 1 : 0.3 + 0.7 * (i % 7) / 7);
    if (sizes == Sizes::table) p.types.push_back(static_cast<std::int32_t>(i % 3));
  }
  if (sizes == Sizes::table) p.contacts = {0.7, 1.0, 0.5, 1.0, 0.6, 0.8, 0.5, 0.8, 0.4};
  return s;
}

// Changes the last edge to a length, and the others by the same factor.
void scale(Start& s, double edge) {
  const double factor = edge / s.parameters.box[s.parameters.dimensions - 1];
  for (double& length : s.parameters.box) length *= factor;
  for (double& r : s.positions) r *= factor;
}

Snapshot first_of(const Start& s) {
  Repair repair;
  return make_snapshot(s.positions.data(), s.particles, s.parameters, repair);
}

std::unique_ptr<Engine> engine_of(Communicator& ranks, const Start& s, const Snapshot& whole) {
  return make_engine(ranks.rank() == 0 ? &whole : nullptr, s.particles, s.parameters, "cpu", 1,
                     ranks);
}

}  // namespace

TEST("spheres and mixtures of any number of ranks end where those of one do") {
  for (const int dimensions : {2, 3})
    for (const Sizes sizes : {Sizes::one, Sizes::additive, Sizes::table}) {
      const Start s = lattice(dimensions, sizes, sizes == Sizes::one ? 4 : 6, 97);
      const Snapshot whole = first_of(s);
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
          if (communicator.rank() == 0) CHECK(found.places == end.places);
          CHECK(communicator.rank() == 0 || found.places.empty());
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
  const Snapshot whole = first_of(s);
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
        const Snapshot whole = first_of(s);
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
  const Snapshot whole = first_of(s);
  const auto body = [&](Communicator& ranks) { engine_of(ranks, s, whole)->run(400); };
  CHECK_THROWS(test::run_communicators(12, body), std::runtime_error,
               "continue from the last checkpoint on fewer ranks");
}

TEST("an error of one rank in a call of an engine of spheres is one of all, with its message") {
  const Start s = lattice(3, Sizes::one, 4, 40);
  const Snapshot whole = first_of(s);
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
  for (const auto& each : cases)
    for (const int culprit : {0, 2}) {
      const auto body = [&](test::Mailboxes& mail, int r) {
        test::InProcess inner(mail, r);
        test::Faulty communicator(inner, culprit);
        const auto engine = engine_of(communicator, s, whole);
        communicator.failing = each.failing;
        each.call(*engine);
      };
      const std::string expected =
          "rank " + std::to_string(culprit) + " of 3: no memory in " + each.failing;
      CHECK_THROWS(test::run_ranks(3, body), RankFailure, expected.c_str());
    }
  for (const char* const failing : {"gather", "transpose", "exchange"})
    CHECK_THROWS(test::run_ranks(3,
                                 [&](test::Mailboxes& mail, int r) {
                                   test::InProcess inner(mail, r);
                                   test::Faulty communicator(inner, 1);
                                   communicator.failing = failing;
                                   engine_of(communicator, s, whole);
                                 }),
                 RankFailure, "rank 1 of 3: no memory in");
}

TEST("slabs that are too thin are refused alike on all ranks, with how many ranks fit") {
  const Start s = lattice(3, Sizes::one, 8, 40);
  const Snapshot whole = first_of(s);
  std::string said;
  test::run_communicators(8, [&](Communicator& communicator) {
    try {
      engine_of(communicator, s, whole);
      CHECK(false);
    } catch (const std::invalid_argument& error) {
      if (communicator.rank() == 0) said = error.what();
    }
  });
  CHECK(said.find("the box is too small for 8 ranks: slabs of whole tiles and at least 7 layers") !=
        std::string::npos);
  const int most = std::stoi(said.substr(said.find("allow ") + 6));
  CHECK(most > 1 && most < 8);
  test::run_communicators(most, [&](Communicator& ranks) { engine_of(ranks, s, whole)->run(3); });
}
