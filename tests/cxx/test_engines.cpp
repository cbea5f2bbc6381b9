// SPDX-License-Identifier: BSD-3-Clause
// Each CPU engine for a few steps on four threads, and shared among ranks of this process, also
// for ThreadSanitizer. The number of threads must not influence the result.
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <vector>

#include "core/adsorption/engine.h"
#include "core/coulomb/engine.h"
#include "core/dpd/engine.h"
#include "core/hard_particles/engine.h"
#include "support/fluid.h"
#include "support/lattices.h"
#include "support/ranks.h"
#include "support/test.h"

using namespace manymove;

namespace {

// ---- hard disks, at a packing fraction of 0.6 ----

test::Start disks(int columns) {
  test::Start s = test::lattice({columns, 2 * columns}, {1.144, 1.144});
  s.parameters.max_displacement = 0.1;
  s.parameters.tile.fill(8);
  s.parameters.seed = 17;
  return s;
}

// ---- electrolytes ----

struct Electrolyte {
  std::vector<double> position, valence, diameter;
  std::vector<std::int32_t> species;
  coulomb::Parameters parameters;

  explicit Electrolyte(bool periodic, coulomb::Method method, int side = 6) {
    for (int k = 0; k < side * side * side; ++k) {
      for (const int c : {k % side, k / side % side, k / side / side})
        position.push_back(2.0 * c - (side - 1));
      valence.push_back(k % 2 ? 1 : -1);
      diameter.push_back(1);
      species.push_back(k % 2);
    }
    parameters.periodic = periodic;
    parameters.radius = 2 * side;
    for (double& edge : parameters.box) edge = 2 * side;
    parameters.bjerrum_length = 2;
    parameters.max_displacement = 1;
    parameters.method = method;
    parameters.seed = 18;
  }
  coulomb::Ions ions() const {
    return {position.data(), valence.data(), diameter.data(), species.data(), valence.size()};
  }
};

// ---- adsorption: a cell with one atom in its corner ----

adsorption::Parameters adsorption_parameters(adsorption::Method method) {
  adsorption::Parameters p;
  for (double& edge : p.framework.cell) edge = 10;
  p.framework.fractional = {0, 0, 0};
  p.framework.kind = {0};
  p.cells = {2, 2, 2};
  p.cutoff = 9;
  adsorption::Species species;
  species.molecules = species.capacity = 8;
  species.with_framework = {{80, 3.2}};
  p.species = {species};
  p.pairs = {{150, 3.7}};
  p.method = method;
  p.systems = 40;
  p.grid = {20, 20, 20};
  p.hill = 5000;
  p.bins = 16;
  p.seed = 19;
  return p;
}

// ---- DPD ----

struct Fluid {
  static constexpr int kSide = 16;  // particles along an edge, at a density of 3
  std::vector<dpd::PairCoefficients> coefficients;
  dpd::Settings settings{};
  std::vector<double> position, velocity;
  std::vector<std::uint32_t> tag;

  explicit Fluid(bool double_precision, bool many_body = false) {
    coefficients.assign(4, {many_body ? -40.0 : 25.0, 4.5, 3 / std::sqrt(0.02), 1, 1});
    const double edge = kSide / std::cbrt(3.0);
    settings = test::fluid_in_cube(edge, coefficients);
    settings.pairs.double_precision = double_precision;
    if (many_body) settings.pairs.many_body = {25, 0.75};
    settings.time_step = 0.02;
    settings.seed = 20;
    std::mt19937 random(21);
    for (int k = 0; k < kSide * kSide * kSide; ++k) {
      for (const int c : {k % kSide, k / kSide % kSide, k / kSide / kSide}) {
        position.push_back((c + 0.5) * edge / kSide);
        velocity.push_back(2 * (static_cast<double>(random()) * 0x1p-32 - 0.5));
      }
      tag.push_back(static_cast<std::uint32_t>(k + 1));
    }
  }
};

struct Outcome {
  std::vector<double> position, velocity;
  std::vector<int> image;
  std::vector<double> energy;  // of each rank's share of the pairs

  void check_same(const Outcome& other) const {
    CHECK(position == other.position);
    CHECK(velocity == other.velocity);
    CHECK(image == other.image);
    CHECK(energy == other.energy);
  }
};

// Each rank is given every ranks-th particle.
Outcome flow(const Fluid& fluid, int ranks, int threads, int steps) {
  Outcome outcome;
  const std::size_t all = fluid.tag.size();
  outcome.position.resize(3 * all);
  outcome.velocity.resize(3 * all);
  outcome.image.resize(3 * all);
  outcome.energy.resize(static_cast<std::size_t>(ranks));
  std::mutex mutex;
  test::run_communicators(ranks, [&](Communicator& communicator) {
    dpd::Settings settings = fluid.settings;
    if (ranks > 1) {
      settings.grid.cut[0] = {0};
      for (int r = 1; r <= ranks; ++r)
        settings.grid.cut[0].push_back(static_cast<double>(r) / ranks);
      settings.grid.cut[1] = settings.grid.cut[2] = {0, 1};
      for (int r = 0; r < ranks; ++r) settings.grid.rank.push_back(r);
    }
    std::vector<double> position, velocity, force;
    std::vector<std::uint32_t> tag, flags;
    std::vector<int> type;
    for (std::size_t k = static_cast<std::size_t>(communicator.rank()); k < all;
         k += static_cast<std::size_t>(ranks)) {
      for (std::size_t a = 0; a < 3; ++a) {
        position.push_back(fluid.position[3 * k + a]);
        velocity.push_back(fluid.velocity[3 * k + a]);
      }
      tag.push_back(fluid.tag[k]);
      flags.push_back(dpd::kIntegrated);
      type.push_back(1);
    }
    force.assign(position.size(), 0);
    std::vector<int> image(position.size());
    const dpd::HostArrays arrays{
        static_cast<int>(tag.size()), reinterpret_cast<double (*)[3]>(position.data()),
        reinterpret_cast<double (*)[3]>(velocity.data()),
        reinterpret_cast<double (*)[3]>(force.data()), reinterpret_cast<int (*)[3]>(image.data())};
    const dpd::Topology topology{type.data(), tag.data(), flags.data(), nullptr, nullptr,
                                 nullptr,     nullptr,    nullptr,      nullptr};
    const auto engine = dpd::make_engine(settings, "cpu", threads, &communicator);
    engine->upload(arrays, topology, {0, 0});
    engine->advance(steps / 2);
    engine->advance(steps - steps / 2);
    engine->download(arrays);
    std::lock_guard lock(mutex);
    for (std::size_t i = 0; i < tag.size(); ++i)
      for (std::size_t a = 0; a < 3; ++a) {
        const std::size_t at = 3 * (tag[i] - 1) + a;
        outcome.position[at] = position[3 * i + a];
        outcome.velocity[at] = velocity[3 * i + a];
        outcome.image[at] = image[3 * i + a];
      }
    outcome.energy[static_cast<std::size_t>(communicator.rank())] =
        engine->energy_and_virial().pairs.energy;
  });
  return outcome;
}

}  // namespace

TEST("hard disks on four threads end where those on one do") {
  const test::Start start = disks(52);
  const auto hash = [&](int threads) {
    const auto engine = hard_particles::make_engine(start.positions.data(), start.particles,
                                                    start.parameters, "cpu", threads);
    engine->set_sampling({0.01, 20, 5, 10});
    engine->run(30);
    std::vector<std::uint64_t> cycles;
    CHECK_EQUAL(engine->take_rows(cycles).size(), 60u);
    CHECK_EQUAL(engine->max_overlap(), 0.0);
    CHECK(engine->counters().accepted_moves > 0);
    engine->bond_order(1.5);
    return engine->state_hash();
  };
  CHECK_EQUAL(hash(4), hash(1));
}

TEST("hard disks shared among ranks with threads end where those of one engine do") {
  const test::Start s = disks(35);
  const auto start = s.snapshot();
  const auto whole = hard_particles::make_engine(start, s.particles, s.parameters, "cpu", 1);
  whole->run(30);
  for (const int ranks : {2, 3})
    test::run_communicators(ranks, [&](Communicator& communicator) {
      const auto* const whole_there = communicator.rank() == 0 ? &start : nullptr;
      const auto engine = hard_particles::make_engine(whole_there, s.particles, s.parameters, "cpu",
                                                      2, communicator);
      engine->run(30);
      CHECK_EQUAL(engine->state_hash(), whole->state_hash());
      CHECK_EQUAL(engine->counters().accepted_moves, whole->counters().accepted_moves);
    });
}

TEST("ions on four threads end where those on one do, by brush, by reduction and one by one") {
  for (const auto method : {coulomb::Method::brush, coulomb::Method::reduction})
    for (const bool periodic : {false, true}) {
      Electrolyte system(periodic, method);
      const auto hash = [&](int threads) {
        const auto engine = coulomb::make_engine(system.ions(), system.parameters, "cpu", threads);
        const double before = engine->energy();
        engine->run(3);
        CHECK(std::abs(engine->energy() - before - engine->energy_change()) < 1e-3);
        CHECK(engine->counters().accepted_moves > 0);
        std::vector<std::uint64_t> counts(3 * 10), interior(2);
        engine->count_pairs({0.5, 10, 10, 2}, counts.data(), interior.data());
        return engine->state_hash();
      };
      const std::uint64_t on_four = hash(4);
      CHECK_EQUAL(on_four, hash(1));
      system.parameters.method = coulomb::Method::serial;
      CHECK_EQUAL(on_four, hash(1));
    }
}

TEST("ions on several ranks end where those on one do, and all ranks know their energy and pairs") {
  for (const bool periodic : {false, true})
    for (const bool double_precision : {false, true}) {
      // Neutral, and enough ions for ranks to share.
      Electrolyte system(periodic, coulomb::Method::brush, 10);
      system.parameters.double_precision = double_precision;
      struct End {
        std::uint64_t hash, accepted;
        double energy;
        std::vector<std::uint64_t> counts, interior;
      };
      const auto end = [&](Communicator* ranks) {
        const auto engine = coulomb::make_engine(system.ions(), system.parameters, "cpu", 2, ranks);
        engine->run(3);
        End found{engine->state_hash(), engine->counters().accepted_moves, engine->energy(),
                  std::vector<std::uint64_t>(3 * 10), std::vector<std::uint64_t>(2)};
        engine->count_pairs({0.5, 10, 10, 2}, found.counts.data(), found.interior.data());
        return found;
      };
      const End one = end(nullptr);
      for (const int ranks : {1, 2, 3, 4})
        test::run_communicators(ranks, [&](Communicator& communicator) {
          const End many = end(&communicator);
          CHECK_EQUAL(many.hash, one.hash);
          CHECK_EQUAL(many.accepted, one.accepted);
          CHECK_EQUAL(many.energy, one.energy);
          CHECK(many.counts == one.counts && many.interior == one.interior);
        });
    }
}

TEST("an error of one rank in a call of a chain that ranks share is one of all") {
  const Electrolyte system(true, coulomb::Method::brush, 10);
  const std::vector<double>& xyz = system.position;
  const std::function<void(coulomb::Engine&)> calls[] = {
      [](coulomb::Engine& engine) { engine.run(2); },
      [](coulomb::Engine& engine) { engine.energy(); },
      [&](coulomb::Engine& engine) { engine.set_positions(xyz.data()); },
      [](coulomb::Engine& engine) {
        std::vector<std::uint64_t> counts(3 * 10), interior(2);
        engine.count_pairs({0.5, 10, 10, 2}, counts.data(), interior.data());
      }};
  for (const auto& call : calls)
    for (const int culprit : {0, 2})
      CHECK_THROWS(test::run_ranks(3,
                                   [&](test::Mailboxes& mail, int r) {
                                     test::InProcess inner(mail, r);
                                     test::Faulty communicator(inner, culprit);
                                     const auto engine = coulomb::make_engine(
                                         system.ions(), system.parameters, "cpu", 1, &communicator);
                                     communicator.failing = "gather";
                                     CHECK_THROWS(call(*engine), RankFailure,
                                                  "of 3: no memory in gather");
                                     call(*engine);
                                   }),
                   RankFailure, culprit ? "rank 2 of 3: no memory" : "rank 0 of 3: no memory");
}

TEST("what ranks cannot share, and what is not the same on all, is refused on all") {
  const auto make = [](const Electrolyte& system, const char* device) {
    return [&system, device](Communicator& communicator) {
      coulomb::make_engine(system.ions(), system.parameters, device, 1, &communicator);
    };
  };
  const Electrolyte brush(true, coulomb::Method::brush);
  for (const auto method : {coulomb::Method::reduction, coulomb::Method::serial})
    CHECK_THROWS(test::run_communicators(2, make(Electrolyte(true, method), "cpu")), ParameterError,
                 "method must be brush or tree for a chain of ions on several ranks");
  CHECK_THROWS(test::run_communicators(2, make(brush, "cuda:0,1")), ParameterError,
               "device must be cpu for a chain of ions on several ranks, got cuda:0,1");
  const char* const differ = "the ranks have different ions or settings";
  CHECK_THROWS(test::run_communicators(3,
                                       [](Communicator& communicator) {
                                         Electrolyte other(true, coulomb::Method::brush);
                                         if (communicator.rank() == 1) other.parameters.seed = 19;
                                         coulomb::make_engine(other.ions(), other.parameters, "cpu",
                                                              1, &communicator);
                                       }),
               std::invalid_argument, differ);
  test::run_communicators(2, [&](Communicator& communicator) {
    const auto engine =
        coulomb::make_engine(brush.ions(), brush.parameters, "cpu", 1, &communicator);
    const std::uint64_t before = engine->state_hash();
    std::vector<double> xyz = brush.position;
    if (communicator.rank() == 1) xyz[0] += 0.1;
    CHECK_THROWS(engine->set_positions(xyz.data()), std::invalid_argument, differ);
    CHECK_EQUAL(engine->state_hash(), before);
    engine->run(1);
  });
}

TEST("nearly uncharged ions move as hard spheres do: nothing but overlaps rejects") {
  Electrolyte system(true, coulomb::Method::serial);
  system.parameters.bjerrum_length = 1e-12;
  system.parameters.max_displacement = 0.4;  // of a gap of 1: no two ions can meet in a sweep
  const auto engine = coulomb::make_engine(system.ions(), system.parameters, "cpu", 1);
  engine->run(1);
  CHECK_EQUAL(engine->counters().accepted_moves, engine->counters().trial_moves);
}

TEST("adsorbed molecules on four threads end where those on one do, by each method") {
  using adsorption::Method;
  for (const auto method :
       {Method::metropolis, Method::pmc, Method::plj, Method::mup, Method::mdp}) {
    auto p = adsorption_parameters(method);
    if (method == Method::plj) {
      p.exchange = 0.3;
      p.species[0].activity = 5;
      p.species[0].capacity = 60;
    }
    const auto run = [&](int threads) {
      const auto engine = adsorption::make_engine(p, "cpu", threads);
      engine->run(50, false);
      engine->run(50, true);
      engine->insert_test_molecules(4, 0, false);
      return engine->snapshot();
    };
    const adsorption::Snapshot one = run(1), four = run(4);
    CHECK(one.sites == four.sites);
    CHECK(one.counts == four.counts);
    CHECK(one.energies == four.energies);
    CHECK(one.sums == four.sums);
    CHECK(one.profile == four.profile);
    CHECK(one.counters.accepted > 0 && one.counters.accepted == four.counters.accepted);
  }
}

TEST("a DPD fluid on four threads ends where that on one does, in both precisions") {
  for (const bool double_precision : {false, true}) {
    const Fluid fluid(double_precision);
    const Outcome one = flow(fluid, 1, 1, 12);
    flow(fluid, 1, 4, 12).check_same(one);
    CHECK(one.position != fluid.position);
  }
}

TEST("a DPD fluid on ranks with threads ends where that on ranks with one does") {
  for (const int ranks : {2, 3}) {
    const Fluid fluid(false);
    const Outcome one = flow(fluid, ranks, 1, 12);
    flow(fluid, ranks, 4, 12).check_same(one);
  }
}

// On three ranks, compared with one.
static void check_ranks(const Fluid& fluid) {
  const Outcome whole = flow(fluid, 1, 2, 10), shared = flow(fluid, 3, 2, 10);
  double momentum[3] = {}, energy = 0;
  for (const double share : shared.energy) energy += share;
  CHECK(std::abs(energy / whole.energy[0] - 1) < 1e-9);
  for (std::size_t k = 0; k < whole.position.size(); ++k) {
    const double edge = fluid.settings.box.extent[0];
    CHECK(std::abs(std::remainder(whole.position[k] - shared.position[k], edge)) < 1e-9);
    CHECK(std::abs(whole.velocity[k] - shared.velocity[k]) < 1e-9);
    momentum[k % 3] += shared.velocity[k] - fluid.velocity[k];
  }
  for (const double p : momentum) CHECK(std::abs(p) < 1e-9);
}

TEST("a DPD fluid on ranks moves as on one rank, and keeps its momentum") {
  check_ranks(Fluid(true));
}

TEST("a many-body DPD fluid on ranks, with any threads, moves as on one rank") {
  const Fluid fluid(true, true);
  check_ranks(fluid);
  const Outcome one = flow(fluid, 2, 1, 12);
  flow(fluid, 2, 4, 12).check_same(one);
}

TEST("DPD forces along a host's list are the same on four threads, and add up to zero") {
  const Fluid fluid(true);
  const auto n = static_cast<int>(fluid.tag.size());
  // Each pair within the cutoff once, by looking at all: every eighth particle, spread out.
  std::vector<int> who, number(static_cast<std::size_t>(n)), type(static_cast<std::size_t>(n), 1);
  std::vector<std::vector<int>> lists(static_cast<std::size_t>(n));
  std::vector<const int*> first(static_cast<std::size_t>(n));
  const auto* r = reinterpret_cast<const double (*)[3]>(fluid.position.data());
  for (int i = 0; i < n; ++i) {
    auto& list = lists[static_cast<std::size_t>(i)];
    for (int j = i + 1; j < n; ++j) {
      double squared = 0;
      for (int a = 0; a < 3; ++a) squared += (r[i][a] - r[j][a]) * (r[i][a] - r[j][a]);
      if (squared < 1.69) list.push_back(j);
    }
    who.push_back(i);
    number[static_cast<std::size_t>(i)] = static_cast<int>(list.size());
    first[static_cast<std::size_t>(i)] = list.data();
  }
  const auto forces = [&](int threads) {
    dpd::PairForces pairs(threads);
    std::vector<double> force(fluid.position.size());
    double energy = 0;
    for (std::uint64_t step = 0; step < 3; ++step)
      pairs.add(fluid.settings.pairs,
                {n, r, reinterpret_cast<const double (*)[3]>(fluid.velocity.data()), type.data(),
                 fluid.tag.data()},
                {n, who.data(), number.data(), first.data()}, 22, step,
                {n, reinterpret_cast<double (*)[3]>(force.data()), &energy, nullptr});
    force.push_back(energy);
    return force;
  };
  const auto one = forces(1);
  CHECK(one == forces(4));
  CHECK(one.back() > 0);
  double sum[3] = {};
  for (std::size_t k = 0; k + 1 < one.size(); ++k) sum[k % 3] += one[k];
  for (const double each : sum) CHECK(std::abs(each) < 1e-7);
}
