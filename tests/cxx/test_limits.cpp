// SPDX-License-Identifier: BSD-3-Clause
// The largest systems: a larger one is refused with an error before memory is allocated.
// docs/clusters.md has the same limits. Also tested: counts of all ranks that exceed 32 bits.
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/adsorption/engine.h"
#include "core/coulomb/engine.h"
#include "support/disks.h"
#include "support/fluid.h"
#include "support/ranks.h"
#include "support/test.h"

using namespace manymove;

namespace {

adsorption::Parameters adsorbates() {
  adsorption::Parameters p;
  for (double& edge : p.framework.cell) edge = 30;
  p.framework.fractional = {0, 0, 0};
  p.framework.kind = {0};
  p.species.resize(1);
  p.species[0].molecules = p.species[0].capacity = 1;
  p.species[0].with_framework = {{100, 3}};
  p.pairs = {{100, 3}};
  p.grid = {8, 8, 8};
  return p;
}

}  // namespace

TEST("DPD has at most 2^30 - 1 particles on a rank") {
  const std::vector<dpd::PairCoefficients> coefficients(4, {25, 4.5, 3, 1, 1});
  const auto engine = dpd::make_engine(test::fluid_in_cube(8, coefficients), "cpu", 1);
  dpd::HostArrays arrays{};
  for (const int count : {1 << 30, std::numeric_limits<int>::max(), -1}) {
    arrays.count = count;
    CHECK_THROWS(engine->upload(arrays, {}, {0, 0}), std::invalid_argument,
                 "at most 1073741823 particles, ghosts included, on one rank");
  }
}

TEST("the box and the cutoffs of dissipative particles fit each other") {
  const std::vector<dpd::PairCoefficients> coefficients(4, {25, 4.5, 3, 1, 1});
  dpd::Settings s = test::fluid_in_cube(2.1, coefficients);
  const auto make = [&] { return dpd::make_engine(s, "cpu", 1); };
  CHECK(make() != nullptr);
  s.shear.rate = 0.1;  // the tilt makes the box narrower
  CHECK_THROWS(make(), std::invalid_argument, "the box under shear is 1.87");
  s = test::fluid_in_cube(8, coefficients);
  s.pairs.many_body.b = 25;
  s.pairs.many_body.cutoff = 0.75;
  CHECK(make() != nullptr);
  s.pairs.many_body.cutoff = 1.1;
  CHECK_THROWS(make(), std::invalid_argument,
               "the cutoff of densities 1.1 is larger than the cutoff of types 1 and 1");
}

TEST("hard disks are at most 2e9, in at most 30000 cells along each edge") {
  const double one[2] = {0, 0};
  hard_particles::Parameters p;
  p.dimensions = 2;
  p.box[0] = p.box[1] = 40000;
  CHECK_THROWS(hard_particles::make_engine(one, 2'000'000'001, p, "cpu", 1), std::invalid_argument,
               "at most 2e9 disks, got 2000000001");
  CHECK_THROWS(hard_particles::make_engine(one, 1, p, "cpu", 1), std::invalid_argument,
               "holds more than 30000 cells");
}

TEST("an electrolyte has at most 2^30 ions") {
  coulomb::Ions ions{};
  ions.count = (std::size_t(1) << 30) + 1;
  coulomb::Parameters p;
  p.radius = 1e6;
  p.bjerrum_length = 1;
  CHECK_THROWS(coulomb::make_engine(ions, p, "cpu", 1), std::invalid_argument, "too many ions");
}

TEST("adsorbates are at most 16384 in a system, and systems at most 2^30") {
  adsorption::Parameters p = adsorbates();
  p.systems = (1 << 30) + 1;
  CHECK_THROWS(adsorption::make_engine(p, "cpu", 1), std::invalid_argument,
               "1073741825 systems are too many");
  p.systems = 1;
  p.species[0].molecules = p.species[0].capacity = 16385;
  CHECK_THROWS(adsorption::make_engine(p, "cpu", 1), std::invalid_argument,
               "16385 molecules in a system are too many");
}

TEST("pairs of disks of all ranks may be more than 2^32") {
  // What each rank counts is given.
  class Part final : public test::NoDisks {
   public:
    using NoDisks::NoDisks;
    std::vector<std::uint64_t> ended_rows() override { return std::exchange(rows_, {}); }
    std::vector<std::uint64_t> histogram(const hard_particles::Sampling&) const override {
      return {0xffffffffu, 7};
    }

   private:
    std::vector<std::uint64_t> rows_ = {0xffffffffu, 1, 5'000'000'000u, 0};
  };
  test::run_communicators(3, [](Communicator& ranks) {
    Part engine(ranks);
    CHECK(engine.contact_histogram(0.1, 2) == std::vector<std::uint64_t>({3 * 0xffffffffull, 21}));
    engine.enqueue(100);
    std::vector<std::uint64_t> cycles;
    CHECK(engine.take_rows(cycles) ==
          std::vector<std::uint64_t>({3 * 0xffffffffull, 3, 15'000'000'000ull, 0}));
  });
}
