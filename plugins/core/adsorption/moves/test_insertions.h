// SPDX-License-Identifier: BSD-3-Clause
// Test molecules, which are inserted and taken away again: B. Widom, J. Chem. Phys. 39, 2808
// (1963).
#pragma once

#include "chain_regrowth.h"
#include "several_proposals.h"

namespace manymove::adsorption {

// In the empty framework a molecule is alone: without images of itself, and without corrections
// for the others' tails.
template <class Test, class System>
MM_TEAM void insert_tests(const Test& t, System& s) {
  using F = typename System::Real;
  const TeamPointer<Pose> poses = s.scratch.walk[0];
  const TeamPointer<F> energy = s.scratch.energy;
  const Waves waves = !t.empty && s.r.charged ? Waves::direct : Waves::none;
  if (waves == Waves::direct) {
    s.clear_change();
    s.set_others();
  }
  s.gather({0, 0, 0}, {0, 0, 0}, F(0), -1, true);
  if (t.empty) s.forget_near();
  const F rest = t.empty ? s.r.body[t.species].with_framework : s.tail_with_others(t.species, 0);
  typename System::template Lane<double> factors, energies;
  s.team.each([&](int l) { factors[l] = energies[l] = 0; });
  for (std::uint64_t base = 0; base < t.count; base += kWidth) {
    draw_anywhere(s, t.first + base, static_cast<std::uint32_t>(t.species) * kWidth, Purpose::widom,
                  poses);
    proposal_energies(s, t.species, poses, kWidth, waves, false, {}, energy, {});
    s.team.each([&](int l) {
      for (int i = l; i < kWidth; i += System::kLanes) {
        if (base + static_cast<std::uint64_t>(i) >= t.count) continue;
        const F total = lowest_of(energy[i] + rest, F(kForbidden));
        const double factor = static_cast<double>(weight(s.m.beta, total));
        factors[l] += factor;
        energies[l] = fused(factor, static_cast<double>(total), energies[l]);
      }
    });
    s.team.sync();
  }
  const double sum = s.team.sum(factors), product = s.team.sum(energies);
  if (s.team.leads()) {
    t.sums[2 * static_cast<std::size_t>(s.id)] = sum;
    t.sums[2 * static_cast<std::size_t>(s.id) + 1] = product;
  }
}

// By growth, with kWidth trials of each bead. Energies are those relative to an ideal chain's.
template <class Test, class System>
MM_TEAM void insert_test_chains(const Test& t, System& s) {
  using F = typename System::Real;
  const ChainBody& chain = s.w.chains.of[t.species];
  const F rest = t.empty ? s.r.body[t.species].with_framework : s.tail_with_others(t.species, 0);
  const double factor = static_cast<double>(weight(s.m.beta, rest)) / chain.weight;
  double sum = 0, product = 0;
  for (std::uint64_t i = 0; i < t.count; ++i) {
    const Grown grown =
        grow(s, {t.first + i, 2, t.species, false, false, t.empty, kWidth, kWidth, -1});
    if (!(grown.weight > 0)) continue;
    const double w = factor * grown.weight;
    const double energy =
        grown.energy + static_cast<double>(rest) + bonds_of_shape(s, t.species) - chain.energy;
    sum += w;
    product = fused(w, energy, product);
  }
  if (s.team.leads()) {
    t.sums[2 * static_cast<std::size_t>(s.id)] = sum;
    t.sums[2 * static_cast<std::size_t>(s.id) + 1] = product;
  }
}

}  // namespace manymove::adsorption
