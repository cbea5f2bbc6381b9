// SPDX-License-Identifier: BSD-3-Clause
// The CPU engine of hard spheres and mixtures on four threads, also for the sanitizers: every
// contact law in two and three dimensions, with crowded cells and rows of histograms.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/hard_particles/engine.h"
#include "support/lattices.h"
#include "support/test.h"

using namespace manymove::hard_particles;
using namespace manymove::test;

namespace {

Start start(int dimensions, int per_edge, Sizes sizes) {
  const auto axes = static_cast<std::size_t>(dimensions);
  const std::vector<double> spacing{1.03, 1.04, 1.05};
  Start s = lattice(std::vector<int>(axes, per_edge), spacing, sizes, 0.2);
  s.parameters.tile.fill(3);
  s.parameters.moves_per_cell = 21;
  s.parameters.seed = 19;
  return s;
}

}  // namespace

TEST("hard spheres and mixtures on four threads end where those on one do") {
  for (const int dimensions : {2, 3})
    for (const Sizes sizes : {Sizes::one, Sizes::additive, Sizes::table}) {
      const Start s = start(dimensions, dimensions == 2 ? 24 : 8, sizes);
      const auto engine = [&](int threads) {
        return make_engine(s.positions.data(), s.particles, s.parameters, "cpu", threads);
      };
      const auto one = engine(1), four = engine(4);
      std::vector<std::uint64_t> rows[2], cycles[2];
      for (int k = 0; k < 2; ++k) {
        Engine& e = k ? *four : *one;
        e.set_sampling({0.02, 40, 2, 4});
        e.run(12);
        rows[k] = e.take_rows(cycles[k]);
      }
      CHECK(one->counters().accepted_moves > 0);
      CHECK_EQUAL(four->counters().accepted_moves, one->counters().accepted_moves);
      CHECK_EQUAL(four->state_hash(), one->state_hash());
      CHECK(rows[0] == rows[1] && cycles[0] == cycles[1]);
      CHECK_EQUAL(cycles[0].size(), 3u);
      CHECK(four->max_overlap() < 1e-6);
      const auto again = make_engine(four->snapshot(), s.particles, s.parameters, "cpu", 3);
      CHECK_EQUAL(again->state_hash(), one->state_hash());
    }
}

TEST("former indices follow the particles that stay while others come and go") {
  Start s = start(3, 6, Sizes::table);
  Parameters& p = s.parameters;
  for (double& edge : p.box) edge *= 1.2;
  p.fugacities = {0.3, 0, 0};
  p.max_displacement = 1e-3;
  const auto engine = make_engine(s.positions.data(), s.particles, p, "cpu", 2);
  struct Look {
    explicit Look(const Engine& engine) : types(engine.types()), r(3 * engine.particles()) {
      engine.positions(r.data());
    }
    std::vector<std::int32_t> types;
    std::vector<double> r;
  };
  Look before(*engine);
  std::size_t came = 0, went = 0;
  const auto compare = [&] {
    const auto former = engine->take_former_indices();
    const Look now(*engine);
    CHECK(former.size() == engine->particles());
    std::vector<bool> stays(before.types.size());
    bool follows = true;
    for (std::size_t i = 0; i < former.size(); ++i) {
      came += former[i] == kNewcomer;
      if (former[i] == kNewcomer) continue;
      const std::size_t then = former[i];
      follows &= then >= i && !stays.at(then) && now.types[i] == before.types[then];
      stays[then] = true;
      for (std::size_t a = 0; a < 3; ++a) {
        const double d = now.r[3 * i + a] - before.r[3 * then + a];
        follows &= std::abs(d - p.box[a] * std::round(d / p.box[a])) < 0.2;
      }
    }
    went += static_cast<std::size_t>(std::count(stays.begin(), stays.end(), false));
    CHECK(follows);
    before = now;
  };
  for (int k = 0; k < 12; ++k) {
    engine->run(k % 3 + 1);
    compare();
  }
  CHECK(came > 20 && went > 20);
  // Without a fugacity above 0 the numbers are constant, and others take effect at once.
  const std::size_t number = engine->particles();
  const std::uint64_t trials = engine->insertion_counters().trials;
  engine->set_fugacities({0, 0, 0});
  engine->run(3);
  CHECK(engine->particles() == number && engine->insertion_counters().trials == trials);
  engine->set_fugacities({0, 0, 5});
  engine->run(3);
  CHECK(engine->particles() > number);
  came = 0;
  compare();
  CHECK(came > 0);
  CHECK_THROWS(engine->set_fugacities({1, 1}), std::invalid_argument, "one for each of 3 types");
  CHECK_THROWS(engine->set_fugacities({0, -1, 0}), std::invalid_argument, "must be zero");
}
