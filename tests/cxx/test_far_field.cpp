// SPDX-License-Identifier: BSD-3-Clause
// The far field of the method "tree": errors against sums over all pairs, and against their bounds.
// MANYMOVE_ERROR_IONS=131072,1048576 in the environment adds larger systems, and prints all; they
// use all cores (docs/benchmarks/electrolyte.md).
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "core/coulomb/cpu/cpu_far_field.h"
#include "core/runtime/devices.h"
#include "support/ranks.h"
#include "support/test.h"

using namespace manymove;
using namespace manymove::coulomb;

namespace {

// Ions z:-1 on a lattice whose points are displaced at random, at the density of the dilute salt.
struct Salt {
  std::vector<double> position, valence, diameter;
  std::vector<std::int32_t> species;
  Parameters parameters;

  Salt(int ions, int valence_of_cations, bool ewald, std::uint64_t seed) {
    constexpr double kSpacing = 60, kDiameter = 7.5;
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> shift((kDiameter - kSpacing) / 2,
                                                 (kSpacing - kDiameter) / 2);
    int side = 1;
    const double radius = kSpacing * (std::cbrt(ions * 0.2387) + 1);
    if (ewald)
      while (side * side * side < ions) ++side;
    else
      side = static_cast<int>(2 * radius / kSpacing) + 1;
    for (int k = 0; static_cast<int>(valence.size()) < ions && k < side * side * side; ++k) {
      double at[3], norm2 = 0;
      const int cell[3] = {k % side, k / side % side, k / side / side};
      for (int a = 0; a < 3; ++a) {
        at[a] = (cell[a] + 0.5 - side / 2.0) * kSpacing + shift(random);
        norm2 += at[a] * at[a];
      }
      if (!ewald && norm2 > radius * radius) continue;
      position.insert(position.end(), at, at + 3);
      const bool cation = valence.size() % static_cast<std::size_t>(valence_of_cations + 1) == 0;
      valence.push_back(cation ? valence_of_cations : -1);
      species.push_back(!cation);
      diameter.push_back(kDiameter);
    }
    parameters.periodic = parameters.ewald = ewald;
    parameters.radius = radius;
    for (double& edge : parameters.box) edge = side * kSpacing;
    parameters.bjerrum_length = 7.117;
    parameters.double_precision = true;
    parameters.method = Method::tree;
    parameters.seed = 3;
  }
  Ions ions() const {
    return {position.data(), valence.data(), diameter.data(), species.data(), valence.size()};
  }
};

struct Errors {
  double largest = 0, bound = 0;  // in kT; the largest bound
  int beyond = 0, open = 0, trials = 0;
};

// Of some ions' trial moves, against the brush's sums.
Errors errors_of(const Salt& salt, int trials, int threads = 1) {
  const State state = make_state(salt.ions(), salt.parameters);
  const Kernels kernels = best_level<Kernels>(MANYMOVE_LEVELS);
  ThreadPool pool(threads);
  CpuFarField far_field(make_far_field(state, 0.25), state, kernels, pool);
  far_field.fill(state.sites);
  far_field.refresh(state.sites);
  const std::size_t n = state.sites.size();
  std::vector<float> x, y, z, charge;
  for (const Site& s : state.sites) {
    x.push_back(s.x);
    y.push_back(s.y);
    z.push_back(s.z);
    charge.push_back(s.charge);
  }
  const Partners all{x.data(), y.data(), z.data(), charge.data()};
  Errors e;
  const std::size_t apart = std::max<std::size_t>(1, n / static_cast<std::size_t>(trials));
  std::mutex turn;
  for_each_item(pool, static_cast<int>((n + apart - 1) / apart), [&](int item, int) {
    const std::size_t i = static_cast<std::size_t>(item) * apart;
    const Site from = state.sites[i];
    const Trial t = propose(state.rules, static_cast<std::uint32_t>(i), 0, from);
    if (!t.inside) return;
    float nearest2;
    const Site to{t.x, t.y, t.z, from.charge};
    const auto exact = static_cast<double>(
        kernels.change_of(state.rules, true, all, {0, n}, i, {from, to}, nearest2));
    const auto change = far_field.change(state, {from, to}, 0);
    const double one = std::abs(from.charge) * state.rules.strength;
    const std::lock_guard lock(turn);
    e.largest = std::max(e.largest, std::abs(change.estimate - exact) * one);
    e.bound = std::max(e.bound, change.bound * one);
    e.beyond += !(std::abs(change.estimate - exact) <= change.bound);
    e.open += verdict(change.estimate, change.bound, t.most, from.charge) == Verdict::unknown;
    ++e.trials;
  });
  return e;
}

}  // namespace

TEST("estimates of the far field err by less than their bounds") {
  // Largest bound and largest error in kT as they were found, with the same bits at all SIMD
  // levels. The energy's scale depends on the size of the system, and so do they.
  struct Case {
    bool ewald;
    int ions;
    double bound, largest;
  };
  for (const Case& c : {Case{false, 2, 1.369e-7, 3.025e-9}, Case{false, 8, 1.561e-6, 2.025e-8},
                        Case{false, 60, 5.723e-6, 2.879e-8}, Case{false, 3000, 2.735e-4, 9.125e-8},
                        Case{true, 2, 2.843e-7, 8.967e-9}, Case{true, 8, 4.226e-6, 7.489e-8},
                        Case{true, 60, 1.254e-5, 5.674e-8}, Case{true, 3000, 2.292e-4, 9.234e-8}}) {
    const Errors e = errors_of(Salt(c.ions, c.ions % 4 ? 1 : 3, c.ewald, 5), 1000);
    CHECK(e.trials > 0);
    CHECK_EQUAL(e.beyond, 0);
    CHECK_EQUAL(e.open, 0);
    // Room for another library's transcendental functions, from which tables are made.
    CHECK(e.bound < 1.05 * c.bound);
    CHECK(e.largest < 1.5 * c.largest);
    CHECK(e.largest > 0.5 * c.largest);
  }
}

TEST("errors of single pairs, which nothing cancels, are below their bounds") {
  for (const bool ewald : {false, true})
    for (std::uint64_t seed = 1; seed < 12; ++seed)
      CHECK_EQUAL(errors_of(Salt(2, 1, ewald, seed), 2).beyond, 0);
}

TEST("the short-ranged part in float32 errs by less than its bound") {
  for (const bool ewald : {false, true}) {
    const Salt salt(3000, 3, ewald, 5);
    const FarField field = make_far_field(make_state(salt.ions(), salt.parameters), 0.35);
    std::mt19937_64 random(1);
    std::uniform_real_distribution<double> distance(1, 1.01 * field.mesh.reach);
    double largest = 0;
    for (int k = 0; k < 300000; ++k) {
      const double r = distance(random);
      const auto squared = static_cast<float>(r * r);
      const double inverse = inverse_root(double{squared});
      const float v = squared * static_cast<float>(field.mesh.inverse_reach2);
      const float single =
          v < 1 ? inverse_root_single(squared) - value_of(field.near_table, v) : 0.0f;
      const double v_double = squared * field.mesh.inverse_reach2;  // (1 - F(r)) / r in float64
      const double exact = v_double < 1 ? inverse - value_of(field.mesh.smooth, v_double) : 0;
      const double error = std::abs(single - exact) / inverse;
      largest = std::max(largest, error / field.near_table.error);
    }
    CHECK(largest < 1);
    CHECK(largest > 0.01);
    CHECK(field.near_table.error < 1e-6);
  }
}

TEST("a far field whose bound is as good as none makes the same chain by direct sums") {
  Salt salt(300, 1, false, 7);
  const auto end = [&](double least_bound) {  // of an energy, in kT
    State state = make_state(salt.ions(), salt.parameters);
    const auto widen = [quanta = least_bound / state.rules.strength](FarField& field, Epochs&) {
      field.bound.field = std::max(field.bound.field, quanta);
    };
    std::unique_ptr<Engine> engine = make_cpu_engine(std::move(state), 2, widen);
    engine->run(3);
    return engine;
  };
  const auto tree = end(0), direct = end(1e4);
  salt.parameters.method = Method::brush;
  const auto brush = end(0);
  CHECK_EQUAL(tree->state_hash(), brush->state_hash());
  CHECK_EQUAL(direct->state_hash(), brush->state_hash());
  CHECK(tree->counters().direct_moves < 10);
  CHECK(direct->counters().direct_moves > 0.95 * direct->counters().evaluated_moves);
}

TEST("a mesh of moves between the transforms of all ions makes the same chain") {
  // None is the CPU; two shares of one GPU make the chain that two GPUs make.
  std::vector<std::vector<int>> choices{{}};
  const std::size_t gpus = cuda_devices().size();
  if (gpus > 0) choices.insert(choices.end(), {{0}, {0, 0}});
  if (gpus > 1) choices.push_back({0, 1});
  for (const bool ewald : {false, true}) {
    Salt salt(ewald ? 400 : 1200, 3, ewald, 7);
    const auto end = [&](const std::vector<int>& devices, Epochs epochs) {
      State state = make_state(salt.ions(), salt.parameters);
      const auto take = [&](FarField&, Epochs& chosen) { chosen = epochs; };
      std::unique_ptr<Engine> engine = devices.empty()
                                           ? make_cpu_engine(std::move(state), 2, take)
                                           : make_cuda_engine(std::move(state), devices, take);
      engine->run(3);
      return engine;
    };
    salt.parameters.method = Method::brush;
    const auto brush = end({}, {});
    salt.parameters.method = Method::tree;
    for (const std::vector<int>& devices : choices)
      for (const Epochs epochs : {Epochs{2000, 64}, Epochs{300, 130}, Epochs{250, 250}}) {
        const auto tree = end(devices, epochs);
        CHECK_EQUAL(tree->state_hash(), brush->state_hash());
        CHECK(tree->counters().direct_moves < 20);
        CHECK(std::abs(tree->energy_change() - brush->energy_change()) < 0.01);
      }
  }
}

TEST("a tree on several ranks has the estimates, direct sums and decisions of one rank") {
  for (const bool ewald : {false, true}) {
    const Salt salt(ewald ? 400 : 1200, 3, ewald, 7);
    for (const Epochs epochs : {Epochs{2000, 300}, Epochs{270, 130}, Epochs{600, 600}}) {
      const auto engine_of = [&](Communicator* ranks, int threads) {
        State state = make_state(salt.ions(), salt.parameters);
        state.ranks = ranks;
        // Of an energy of 0.01 kT: the direct sum decides some trials.
        const auto change = [&, quanta = 0.01 / state.rules.strength](FarField& field,
                                                                      Epochs& chosen) {
          field.bound.field = std::max(field.bound.field, quanta);
          chosen = epochs;
        };
        std::unique_ptr<Engine> engine = make_cpu_engine(std::move(state), threads, change);
        engine->run(2);
        return engine;
      };
      const auto one = engine_of(nullptr, 1);
      CHECK(one->counters().direct_moves > 0);
      for (const int ranks : {2, 3, 5})
        test::run_communicators(ranks, [&](Communicator& communicator) {
          const auto many = engine_of(&communicator, 2);
          CHECK_EQUAL(many->state_hash(), one->state_hash());
          CHECK_EQUAL(many->counters().direct_moves, one->counters().direct_moves);
          CHECK_EQUAL(many->energy_change(), one->energy_change());
        });
    }
  }
}

TEST("errors of the far field in systems that the environment names") {
  const char* const named = std::getenv("MANYMOVE_ERROR_IONS");
  if (!named) return;
  std::istringstream list(named);
  for (std::string ions; std::getline(list, ions, ',');)
    for (const bool ewald : {false, true}) {
      const Errors e = errors_of(Salt(std::stoi(ions), 3, ewald, 5), 300,
                                 static_cast<int>(std::thread::hardware_concurrency()));
      std::printf("%s ions, %s: largest error %.3g kT, largest bound %.3g kT, %d of %d open\n",
                  ions.c_str(), ewald ? "ewald" : "sphere", e.largest, e.bound, e.open, e.trials);
      CHECK_EQUAL(e.beyond, 0);
    }
}
