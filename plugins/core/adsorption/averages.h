// SPDX-License-Identifier: BSD-3-Clause
// The averages of systems of rigid molecules, written once for CPU and GPU.
#pragma once

#include "molecules/system.h"

namespace manymove::adsorption {

template <class System>
MM_TEAM void add_to(const System& s, int sum, double value) {
  s.w.sums[static_cast<std::size_t>(sum) * s.w.systems + s.id] += value;
}
// By the lane that leads.
template <class System>
MM_TEAM void measure_state(const System& s) {
  if (!s.team.leads()) return;
  add_to(s, kPlain, s.energy);
  add_to(s, kEnergySquared, s.energy * s.energy);
  if (!s.m.exchange) return;
  double n = 0;
  for (int b = 0; b < s.m.species; ++b) {
    n += s.counts[b];
    add_to(s, kOfSpecies + b, s.counts[b]);
  }
  add_to(s, kNumber, n);
  add_to(s, kNumberSquared, n * n);
  add_to(s, kEnergyNumber, s.energy * n);
  if (s.m.species > 1) add_mixture(s.w.sums + s.id, s.w.systems, s.m.species, s.energy, s.counts);
}

// The possible changes by an insertion, deletion, reinsertion or identity change, and their
// probability given its trials: docs/theory/open_systems.md, section 4.
struct TrialOutcome {
  double probability = 0, difference = 0;  // of the energy
  bool accepted = false;
  int gains = -1, loses = -1;    // species with a molecule more or less
  int inserted = -1, tried = 0;  // species; 1 for an insertion, -1 for a deletion
  double test = 0;               // beta f V W of an insertion
  int present = 0;               // molecules of the species then
};
template <class System>
MM_TEAM void measure_outcome(const System& s, const TrialOutcome& o) {
  if (!s.team.leads()) return;
  const double more = o.probability - (o.accepted ? 1 : 0);
  if (o.gains >= 0) add_to(s, kExpected + o.gains, more);
  if (o.loses >= 0) add_to(s, kExpected + o.loses, -more);
  if (more != 0) add_to(s, kExpectedEnergy, more * o.difference);
  if (o.inserted < 0) return;
  add_to(s, kChoice + o.inserted, o.tried);
  if (o.tried < 0) return;
  add_to(s, kTest + o.inserted, o.test);
  add_to(s, kTested + o.inserted, 1);
  add_to(s, kPresent + o.inserted, o.present);
}
template <class System>
MM_TEAM void count_move(const System& s, int tries, bool accepted) {
  if (!s.w.measure || !s.team.leads()) return;
  add_to(s, tries, 1);
  if (accepted) add_to(s, tries + 1, 1);
}

template <class System>
MM_TEAM void count_in_profile(const System& s, const Site& center, double probability) {
  const std::uint64_t q = quantum(probability);
  if (q)
    s.team.add(s.w.profile + static_cast<std::size_t>(s.id % s.w.groups) * s.m.bins +
                   profile_bin(s.m, center),
               q);
}
// With a system of its own, so that the compiler keeps the members of the other in registers.
template <class System, class Arrays, class Scratch, class Team>
MM_TEAM_CALL double energy_from_scratch(const Arrays& work, int id, const Team team,
                                        const Scratch scratch) {
  return System(work, id, team, scratch).total_energy();
}
template <class System>
MM_TEAM void renew_energy(System& s) {
  using One = typename System::Team::One;
  s.team.sync();
  if (s.team.first_warp()) {
    const double fresh = energy_from_scratch<typename System::template With<One>>(
        s.w, s.id, s.team.one(), s.scratch);
    if (s.team.leads()) {
      double& drift = s.w.sums[static_cast<std::size_t>(kDrift) * s.w.systems + s.id];
      drift = highest_of(drift, magnitude(fresh - s.energy));
      s.w.energies[s.id] = fresh;
    }
  }
  s.team.sync();
  s.energy = s.w.energies[s.id];
}

}  // namespace manymove::adsorption
