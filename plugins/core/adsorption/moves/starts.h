// SPDX-License-Identifier: BSD-3-Clause
// Where molecules start. Each is placed at random, below the hill of the framework's energy.
#pragma once

#include "../molecules/proposals.h"
#include "../point_proposals.h"
#include "chain_regrowth.h"

namespace manymove::adsorption {

// A molecule goes to the best of kWidth random places where the framework's energy is below the
// hill. Rounds of kWidth places follow each other until one has a place where the molecule is
// bound. The long-range part of the molecules' own interaction does not count here. number: of the
// molecule among those of all species. Returns false if there is no place.
template <MoleculesOfTeam System>
MM_TEAM bool place_one(System& s, int species, int slot, std::uint64_t number) {
  using F = typename System::Real;
  F best = F(kForbidden);
  for (std::uint32_t round = 0; round < kPlaceRounds && !(best < F(0)); ++round) {
    auto tries = tries_anywhere(s, species, number, round * kWidth);
    typename System::template Lane<F> energy;
    typename System::template Lane<bool> winner;
    s.team.each([&](int l) {
      energy[l] = F(kForbidden);
      tries.each_of(l, [&](F& total, F&) {
        if (total < best && field_of_try(s, species, tries, l) < s.w.hill) energy[l] = total;
      });
    });
    // The first lane with the lowest energy wins, so that the place does not depend on the number
    // of lanes that run at a time.
    const F lowest = s.team.lowest(energy);
    s.team.each([&](int l) { winner[l] = energy[l] == lowest; });
    if (lowest < best) {
      best = lowest;
      put_try(s, species, slot, tries, s.team.first(winner));
    }
    if (!s.has_framework() && best < s.w.hill) break;  // an ideal gas is not bound at all
  }
  return best < s.w.hill;
}

// A chain grows until its energy with the framework, the others and itself is below the hill.
MM_TEAM bool place_chain(MoleculesOfTeam auto& s, int species, int slot, std::uint64_t number) {
  for (std::uint32_t round = 0; round < kPlaceRounds; ++round) {
    // Each round has random numbers of its own.
    const std::uint64_t step = number * kPlaceRounds + round;
    const Grown grown = grow(s, {step, 3, species, false, false, false, kWidth, kWidth, -1});
    if (!(grown.weight > 0 && grown.energy < static_cast<double>(s.w.hill))) continue;
    s.place_new(species, slot, grown.pose);
    return true;
  }
  return false;
}

// Returns false if a molecule finds no place, or if gave_up() says that another system has found
// none.
template <MoleculesOfTeam System, class GaveUp>
MM_TEAM bool place_molecules(System& s, const GaveUp& gave_up) {
  std::int32_t wanted[kMostSpecies];
  for (int b = 0; b < s.m.species; ++b) wanted[b] = s.counts[b];
  for (int b = 0; b < s.m.species; ++b) set_count(s, b, 0);
  std::uint64_t number = 0;  // places must not depend on capacities
  for (int b = 0; b < s.m.species; ++b)
    for (int i = 0; i < wanted[b]; ++i, ++number) {
      const int slot = s.m.first_slot[b] + i;
      if (gave_up()) return false;
      bool placed;
      if constexpr (System::kChains)
        placed = place_chain(s, b, slot, number);
      else
        placed = place_one(s, b, slot, number);
      if (!placed) return false;
      set_count(s, b, i + 1);
    }
  s.energy = s.total_energy();
  s.store(s.w.first_step);
  return true;
}
MM_TEAM bool place_molecules(MoleculesOfTeam auto& s) {
  return place_molecules(s, [] { return false; });
}

}  // namespace manymove::adsorption
