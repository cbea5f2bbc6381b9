// SPDX-License-Identifier: BSD-3-Clause
// Where molecules start. Each is placed at random, below the hill of the framework's energy.
#pragma once

#include "../molecules/proposals.h"
#include "../point_proposals.h"
#include "chain_regrowth.h"

namespace manymove::adsorption {

// Each molecule goes to the best of kWidth random places where the framework's energy is below the
// hill. Rounds of kWidth places follow each other until one has a place where the molecule is
// bound. The long-range part of the molecules' own interaction does not count here. Returns false
// if a molecule finds no place, or if gave_up() says that another system has found none.
template <class System, class GaveUp>
MM_TEAM bool place_points_or_poses(System& s, const GaveUp& gave_up) {
  using F = typename System::Real;
  std::int32_t wanted[kMostSpecies];
  for (int b = 0; b < s.m.species; ++b) wanted[b] = s.counts[b];
  for (int b = 0; b < s.m.species; ++b) s.set_count(b, 0);
  std::uint64_t molecule = 0;  // of all species: places must not depend on capacities
  for (int b = 0; b < s.m.species; ++b)
    for (int i = 0; i < wanted[b]; ++i, ++molecule) {
      if (gave_up()) return false;
      F best = F(kForbidden);
      for (std::uint32_t round = 0; round < kPlaceRounds && !(best < F(0)); ++round) {
        auto tries = tries_anywhere(s, b, molecule, round * kWidth);
        typename System::template Lane<F> energy;
        typename System::template Lane<bool> winner;
        s.team.each([&](int l) {
          energy[l] = F(kForbidden);
          tries.each_of(l, [&](F& total, F&) {
            if (total < best && field_of_try(s, b, tries, l) < s.w.hill) energy[l] = total;
          });
        });
        const F lowest = s.team.lowest(energy);
        s.team.each([&](int l) { winner[l] = energy[l] == lowest; });
        if (lowest < best) {
          best = lowest;
          put_try(s, b, s.m.first_slot[b] + i, tries, s.team.first(winner));
        }
        if (!s.has_framework() && best < s.w.hill) break;  // an ideal gas is not bound at all
      }
      if (!(best < s.w.hill)) return false;
      s.set_count(b, i + 1);
    }
  s.energy = s.total_energy();
  s.store(s.w.first_step);
  return true;
}

// Each chain grows until its energy with the framework, the others and itself is below the hill.
template <class System>
MM_TEAM bool place_chains(System& s) {
  std::int32_t wanted[kMostSpecies];
  for (int b = 0; b < s.m.species; ++b) wanted[b] = s.counts[b];
  for (int b = 0; b < s.m.species; ++b) s.set_count(b, 0);
  std::uint64_t molecule = 0;
  for (int b = 0; b < s.m.species; ++b)
    for (int i = 0; i < wanted[b]; ++i, ++molecule) {
      Grown grown{0, 0, {}};
      for (std::uint32_t round = 0; round < kPlaceRounds; ++round) {
        const std::uint64_t step = molecule * kPlaceRounds + round;
        grown = grow(s, {step, 3, b, false, false, false, kWidth, kWidth, -1});
        if (grown.weight > 0 && grown.energy < static_cast<double>(s.w.hill)) break;
        grown.weight = 0;
      }
      if (!(grown.weight > 0)) return false;
      s.place_new(b, s.m.first_slot[b] + i, grown.pose);
      s.set_count(b, i + 1);
    }
  s.energy = s.total_energy();
  s.store(s.w.first_step);
  return true;
}

template <class System, class GaveUp>
MM_TEAM bool place_molecules(System& s, const GaveUp& gave_up) {
  if constexpr (System::kChains)
    return place_chains(s);
  else
    return place_points_or_poses(s, gave_up);
}
template <class System>
MM_TEAM bool place_molecules(System& s) {
  return place_molecules(s, [] { return false; });
}

}  // namespace manymove::adsorption
