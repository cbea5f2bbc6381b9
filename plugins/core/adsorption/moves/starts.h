// SPDX-License-Identifier: BSD-3-Clause
// Where molecules start. Each is placed at random, below the hill of the framework's energy.
#pragma once

#include "chain_regrowth.h"
#include "several_proposals.h"

namespace manymove::adsorption {

// Each molecule goes to the best of kWidth random poses where the framework's energy is below the
// hill, of as many rounds as it takes to find one where it is bound at all. The long-range part of
// the molecules' own interaction does not count here.
template <class System>
MM_TEAM bool place_all(System& s) {
  using F = typename System::Real;
  std::int32_t wanted[kMostSpecies];
  for (int b = 0; b < s.m.species; ++b) wanted[b] = s.counts[b];
  for (int b = 0; b < s.m.species; ++b) s.set_count(b, 0);
  std::uint64_t molecule = 0;
  const TeamPointer<Pose> poses = s.scratch.walk[0];
  const TeamPointer<F> energy = s.scratch.energy;
  for (int b = 0; b < s.m.species; ++b)
    for (int i = 0; i < wanted[b]; ++i, ++molecule) {
      F best = F(kForbidden);
      for (std::uint32_t round = 0; round < kPlaceRounds && !(best < F(0)); ++round) {
        draw_anywhere(s, molecule, round * kWidth, Purpose::place, poses);
        s.gather(poses[0].center, {0, 0, 0}, F(0), -1, true);
        proposal_energies(s, b, poses, kWidth, Waves::none, false, {}, energy, {});
        int winner = -1;
        for (int k = 0; k < kWidth; ++k)
          if (energy[k] < best && s.field(s.r.body[b], poses[k]) < s.w.hill) {
            best = energy[k];
            winner = k;
          }
        s.team.sync();
        if (winner >= 0) s.put(b, s.m.first_slot[b] + i, poses[winner]);
        if (!s.r.framework && best < s.w.hill) break;  // an ideal gas is not bound at all
      }
      if (!(best < s.w.hill)) return false;
      s.set_count(b, i + 1);
    }
  s.energy = s.total_energy();
  if (s.team.leads()) s.w.energies[s.id] = s.energy;
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
  if (s.team.leads()) s.w.energies[s.id] = s.energy;
  return true;
}

}  // namespace manymove::adsorption
