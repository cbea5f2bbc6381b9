// SPDX-License-Identifier: BSD-3-Clause
// Test molecules, which are inserted and taken away again: B. Widom, J. Chem. Phys. 39, 2808
// (1963).
#pragma once

#include "../molecules/proposals.h"
#include "../point_proposals.h"
#include "chain_regrowth.h"

namespace manymove::adsorption {

// The two sums of a system over the test molecules: exp(-beta dU), and dU times that.
struct TestSums {
  double factors, energies;
};

// In the empty framework a molecule is alone: without images of itself, and without corrections
// for the others' tails.
template <class Test, MoleculesOfTeam System>
MM_TEAM TestSums insert_places(const Test& t, System& s) {
  using F = typename System::Real;
  begin_tests(s, t.empty);
  const F rest = s.rest_of_test(t.species, t.empty);
  typename System::template Lane<double> factors, energies;
  s.team.each([&](int l) { factors[l] = energies[l] = 0; });
  for (std::uint64_t base = 0; base < t.count; base += kWidth) {
    auto tests = tests_anywhere(s, t.species, t.first + base, t.empty);
    s.team.each([&](int l) {
      if (base + static_cast<std::uint64_t>(l) >= t.count) return;
      tests.each_of(l, [&](F& energy, F&) {
        // Widom: the averages of exp(-beta dU) and of dU exp(-beta dU) give Henry's coefficient and
        // the heat of adsorption.
        const F total = min_of(energy + rest, F(kForbidden));
        const double factor = static_cast<double>(weight(s.m.beta, total));
        factors[l] += factor;
        energies[l] = fused(factor, static_cast<double>(total), energies[l]);
      });
    });
    // The next test molecules take the memory of these.
    s.team.sync();
  }
  return {s.team.sum(factors), s.team.sum(energies)};
}

// By growth, with kWidth trials of each bead. Energies are those relative to an ideal chain's.
template <class Test, MoleculesOfTeam System>
MM_TEAM TestSums insert_test_chains(const Test& t, System& s) {
  using F = typename System::Real;
  const ChainBody& chain = s.w.chains.of[t.species];
  const F rest = s.rest_of_test(t.species, t.empty);
  // Henry's coefficient compares with an ideal chain, whose mean weight is W_id: W / W_id.
  const double factor = static_cast<double>(weight(s.m.beta, rest)) / chain.weight;
  TestSums sums{0, 0};
  for (std::uint64_t i = 0; i < t.count; ++i) {
    const Grown grown =
        grow(s, {t.first + i, 2, t.species, false, false, t.empty, kWidth, kWidth, -1});
    if (!(grown.weight > 0)) continue;
    const double w = factor * grown.weight;
    const double energy =
        grown.energy + static_cast<double>(rest) + bonds_of_shape(s, t.species) - chain.energy;
    sums.factors += w;
    sums.energies = fused(w, energy, sums.energies);
  }
  return sums;
}

template <class Test, MoleculesOfTeam System>
MM_TEAM void insert_tests(const Test& t, System& s) {
  TestSums sums;
  if constexpr (System::kChains)
    sums = insert_test_chains(t, s);
  else
    sums = insert_places(t, s);
  if (!s.team.leads()) return;
  t.sums[2 * static_cast<std::size_t>(s.id)] = sums.factors;
  t.sums[2 * static_cast<std::size_t>(s.id) + 1] = sums.energies;
}

}  // namespace manymove::adsorption
