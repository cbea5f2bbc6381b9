// SPDX-License-Identifier: BSD-3-Clause
// Velocities that a host program changes while the resident engine keeps the particles.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>

#include "core/dpd/engine.h"
#include "support/fluid.h"
#include "support/ranks.h"
#include "support/test.h"

using namespace manymove;
using namespace manymove::dpd;

namespace {

using Triples = std::vector<std::array<double, 3>>;

// One rank's share of a fluid of density 3, and an engine that has it.
class Share {
 public:
  static constexpr int kSide = 12;

  Share(bool double_precision, Communicator& communicator,
        const std::vector<VelocityChange>& changes = {}) {
    const int ranks = communicator.ranks();
    const double edge = kSide / std::cbrt(3.0);
    coefficients_.assign(4, {25, 4.5, 3 / std::sqrt(0.02), 1, 1});
    settings_ = test::fluid_in_cube(edge, coefficients_);
    settings_.velocity_changes = changes;
    settings_.pairs.double_precision = double_precision;
    settings_.seed = 20;
    for (auto& cut : settings_.grid.cut) cut = {0, 1};
    if (ranks > 1) settings_.grid.cut[0] = {0, 0.5, 1};
    for (int r = 0; ranks > 1 && r < ranks; ++r) settings_.grid.rank.push_back(r);
    std::mt19937 random(21);
    for (int k = 0; k < kSide * kSide * kSide; ++k) {
      std::array<double, 3> place{}, v{};
      const int cell[3] = {k % kSide, k / kSide % kSide, k / kSide / kSide};
      for (std::size_t a = 0; a < 3; ++a) {
        place[a] = (cell[a] + 0.5) * edge / kSide;
        v[a] = 4 * (static_cast<double>(random()) * 0x1p-32 - 0.5);
      }
      if (k % ranks != communicator.rank()) continue;
      tag.push_back(static_cast<std::uint32_t>(k + 1));
      position.push_back(place);
      velocity.push_back(v);
    }
    force.resize(tag.size());
    engine = make_engine(settings_, "cpu", 2, &communicator);
    const std::vector<int> type(tag.size(), 1);
    const std::vector<std::uint32_t> flags(tag.size(), kIntegrated);
    Topology topology{};
    topology.type = type.data();
    topology.tag = tag.data();
    topology.flags = flags.data();
    engine->upload(arrays(), topology, {});
  }

  HostArrays arrays() {
    HostArrays arrays{};
    arrays.count = static_cast<int>(tag.size());
    arrays.position = reinterpret_cast<double (*)[3]>(position.data());
    arrays.velocity = reinterpret_cast<double (*)[3]>(velocity.data());
    arrays.force = reinterpret_cast<double (*)[3]>(force.data());
    return arrays;
  }
  void set_velocities(const Triples& v) {
    engine->set_velocities(static_cast<int>(tag.size()), tag.data(),
                           reinterpret_cast<const double (*)[3]>(v.data()));
  }

  std::vector<std::uint32_t> tag;
  Triples position, velocity, force;
  std::unique_ptr<Engine> engine;

 private:
  std::vector<PairCoefficients> coefficients_;
  Settings settings_{};
};

// On one rank and on two, in both precisions.
template <class Test>
void everywhere(Test test) {
  for (const int ranks : {1, 2})
    for (const bool double_precision : {false, true})
      test::run_communicators(ranks, [&](Communicator& communicator) {
        Share share(double_precision, communicator);
        test(share, communicator, double_precision);
      });
}

}  // namespace

TEST("setting the velocities that are there changes no bit and builds no lists") {
  everywhere([](Share& share, Communicator& communicator, bool double_precision) {
    Share other(double_precision, communicator);
    for (int k = 0; k < 30; ++k) {
      share.engine->advance(1);
      other.engine->advance(1);
      share.engine->download(share.arrays());
      share.set_velocities(share.velocity);
    }
    share.engine->download(share.arrays());
    other.engine->download(other.arrays());
    CHECK(share.position == other.position);
    CHECK(share.velocity == other.velocity);
    CHECK(share.force == other.force);
    CHECK_EQUAL(share.engine->energy_and_virial().pairs.energy,
                other.engine->energy_and_virial().pairs.energy);
    CHECK_EQUAL(share.engine->counters().builds, other.engine->counters().builds);
    CHECK(share.engine->counters().builds < 15);
  });
}

TEST("velocities that are set go to their particles, wherever these are") {
  everywhere([](Share& share, Communicator& communicator, bool) {
    share.engine->advance(40);
    Triples set;
    for (const std::uint32_t tag : share.tag) {
      const double value = tag;  // exact in both precisions
      set.push_back({value, -value, 0.5 * value});
    }
    share.set_velocities(set);
    share.engine->download(share.arrays());
    CHECK(share.velocity == set);

    // In another order, as after set_origins().
    std::reverse(share.tag.begin(), share.tag.end());
    if (communicator.ranks() > 1) {
      share.engine->set_origins(static_cast<int>(share.tag.size()), share.tag.data());
      std::reverse(set.begin(), set.end());
      for (auto& v : set) v[1] = 0;
      share.set_velocities(set);
      share.engine->download(share.arrays());
      CHECK(share.velocity == set);
    }
  });
}

TEST("forces follow from velocities that were set") {
  everywhere([](Share& share, Communicator&, bool) {
    share.engine->advance(20);
    share.engine->download(share.arrays());
    const Triples before = share.position;
    const Triples rest(share.tag.size(), {0, 0, 0});
    share.set_velocities(rest);
    share.engine->advance(1);
    share.engine->download(share.arrays());
    double largest = 0;
    for (std::size_t i = 0; i < before.size(); ++i)
      for (std::size_t a = 0; a < 3; ++a) {
        const double way = std::abs(share.position[i][a] - before[i][a]);
        if (way < 1) largest = std::max(largest, way);  // else it passed a periodic face
      }
    // Half a kick: forces are some hundred at most.
    CHECK(largest > 0);
    CHECK(largest < 0.5 * 0.01 * 0.01 * 300);
  });
}

TEST("positions that are set go to their particles, and lists follow them") {
  everywhere([](Share& share, Communicator& communicator, bool double_precision) {
    // Velocities of another system, whose particles have moved by more than the reach of lists.
    Share other(double_precision, communicator);
    other.engine->advance(200);
    other.engine->download(other.arrays());
    share.engine->advance(3);
    const auto count = static_cast<int>(share.tag.size());
    share.engine->set_particles(count, share.tag.data(),
                                reinterpret_cast<const double (*)[3]>(other.position.data()),
                                reinterpret_cast<const double (*)[3]>(other.velocity.data()));
    share.engine->download(share.arrays());
    CHECK(share.velocity == other.velocity);
    double largest = 0;
    for (std::size_t i = 0; i < share.position.size(); ++i)
      for (std::size_t a = 0; a < 3; ++a)
        largest = std::max(largest, std::abs(share.position[i][a] - other.position[i][a]));
    CHECK(largest < 1e-8);
    const std::int64_t builds = share.engine->counters().builds;
    share.engine->advance(2);
    CHECK(share.engine->counters().builds > builds);
  });
}

TEST("positions that are not finite are refused by the particle's tag") {
  everywhere([](Share& share, Communicator&, bool) {
    share.engine->advance(5);
    share.engine->download(share.arrays());
    for (std::size_t i = 0; i < share.tag.size(); ++i)
      if (share.tag[i] == 8) share.position[i][1] = std::numeric_limits<double>::quiet_NaN();
    CHECK_THROWS(
        share.engine->set_particles(static_cast<int>(share.tag.size()), share.tag.data(),
                                    reinterpret_cast<const double (*)[3]>(share.position.data()),
                                    reinterpret_cast<const double (*)[3]>(share.velocity.data())),
        std::invalid_argument, "particle 8 at");
  });
}

TEST("velocities that are not finite are refused by the particle's tag and change nothing") {
  everywhere([](Share& share, Communicator&, bool) {
    share.engine->advance(5);
    share.engine->download(share.arrays());
    const Triples before = share.velocity;
    Triples set(before.size(), {1, 2, 3});
    for (std::size_t i = 0; i < set.size(); ++i)
      if (share.tag[i] == 8) set[i][1] = std::numeric_limits<double>::quiet_NaN();
    CHECK_THROWS(share.set_velocities(set), std::invalid_argument,
                 "the velocity of particle 8 is not finite");
    share.engine->download(share.arrays());
    CHECK(share.velocity == before);
  });
}

namespace {

// m v^2 and m v of all ranks' particles with mass 1, by the arrays of the hosts.
std::array<double, 4> sums_of(Share& share, Communicator& communicator) {
  share.engine->download(share.arrays());
  std::array<double, 4> sums{};
  for (const auto& v : share.velocity) {
    for (std::size_t a = 0; a < 3; ++a) {
      sums[0] += v[a] * v[a];
      sums[1 + a] += v[a];
    }
  }
  communicator.sum(sums.data(), sums.size());
  return sums;
}

}  // namespace

TEST("velocities are scaled to a temperature and lose their momentum") {
  constexpr double kParticles = Share::kSide * Share::kSide * Share::kSide;
  VelocityChange stop{VelocityChange::kStop, 1, kIntegrated, kIntegrated};
  stop.mass = kParticles;
  stop.axes = 5;  // x and z
  VelocityChange scale{VelocityChange::kRescale, 2, kIntegrated, kIntegrated};
  scale.temperature_of_sum = 1 / (3 * kParticles);
  scale.temperature = 1.5;
  scale.rate = 1;
  test::run_communicators(2, [&](Communicator& communicator) {
    Share share(true, communicator, {stop, scale});
    const auto before = sums_of(share, communicator);
    share.engine->advance(3);
    share.engine->change_velocities();
    const auto after = sums_of(share, communicator);
    CHECK(std::abs(before[1]) > 1);
    CHECK(std::abs(after[1]) < 1e-9);
    CHECK(std::abs(after[2]) > 1);
    CHECK(std::abs(after[3]) < 1e-9);
    share.engine->advance(1);
    share.engine->change_velocities();
    CHECK(std::abs(sums_of(share, communicator)[0] * scale.temperature_of_sum - 1.5) < 1e-11);
  });
}

TEST("changes of velocities do not depend on where a run is divided") {
  VelocityChange relax{VelocityChange::kRelax, 3, kIntegrated, kIntegrated};
  relax.temperature_of_sum = 1 / (3.0 * Share::kSide * Share::kSide * Share::kSide);
  relax.temperature = 0.5;
  relax.rate = 0.2;
  for (const bool double_precision : {false, true})
    test::run_communicators(1, [&](Communicator& communicator) {
      Share whole(double_precision, communicator, {relax}),
          parts(double_precision, communicator, {relax});
      whole.engine->advance(30);
      whole.engine->change_velocities();
      for (int k = 0; k < 15; ++k) {
        parts.engine->advance(2);
        parts.engine->change_velocities();
      }
      whole.engine->download(whole.arrays());
      parts.engine->download(parts.arrays());
      CHECK(whole.velocity == parts.velocity);
      CHECK(whole.position == parts.position);
      CHECK_EQUAL(whole.engine->temperature_drops()[0], parts.engine->temperature_drops()[0]);
      CHECK(whole.engine->temperature_drops()[0] > 0.1);
    });
}
