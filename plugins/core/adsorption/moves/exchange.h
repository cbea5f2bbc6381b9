// SPDX-License-Identifier: BSD-3-Clause
// Insertions and deletions of one molecule, with a single trial: D. Frenkel, B. Smit, Understanding
// Molecular Simulation, Eqs. 5.6.8 and 5.6.9.
#pragma once

#include "../averages.h"

namespace manymove::adsorption {

// Whether there is room for one molecule more. If not, the step is repeated after the arrays have
// grown, so that it is not counted now.
MM_TEAM bool has_slot(const MoleculesOfTeam auto& s, int species, CountsMoves auto& moves) {
  if (s.m.first_slot[species] + s.counts[species] < s.m.first_slot[species + 1]) return true;
  moves.full |= 1u << species;
  --moves.exchanges;
  return false;
}
MM_TEAM void put_in(MoleculesOfTeam auto& s, int species, const auto& fresh) {
  const int n = s.counts[species];
  s.place_new(species, s.m.first_slot[species] + n, fresh);
  set_count(s, species, n + 1);
}
// The last molecule of the species takes the slot.
MM_TEAM void take_out(MoleculesOfTeam auto& s, int species, int slot) {
  // Molecules of a species fill their slots without gaps.
  const int last = s.counts[species] - 1;
  s.relocate(species, s.m.first_slot[species] + last, slot);
  set_count(s, species, last);
}

// Returns false and leaves the system unchanged if an accepted insertion finds no free slot.
template <MoleculesOfTeam System, CountsMoves Counts>
MM_TEAM bool exchange(System& s, std::uint64_t step, Counts& moves, TrialOutcome& outcome) {
  using F = typename System::Real;
  std::uint32_t word[4];
  random_words(word, s.m.key, step, static_cast<std::uint32_t>(s.id), 0u, Purpose::exchange);
  // A fair coin chooses between insertion and deletion, and all species are equally likely, in both
  // directions.
  const auto species =
      static_cast<int>(uniform_below(word[1], static_cast<std::uint32_t>(s.m.species)));
  const int n = s.counts[species], first = s.m.first_slot[species];
  const double activity = s.m.activity[species];
  ++moves.exchanges;
  outcome.inserted = species;
  outcome.present = n;
  if (word[0] >> 31) {
    const auto fresh = s.anywhere(step);
    const F difference = min_of(s.change_of_insertion(species, fresh), F(kForbidden));
    outcome.tried = 1;
    outcome.gains = species;
    // Accepted with the probability min(1, beta f V / (N + 1) exp(-beta dU)).
    outcome.test = activity * static_cast<double>(weight(s.m.beta, difference));
    outcome.probability = min_of(outcome.test / (n + 1), 1.0);
    outcome.difference = static_cast<double>(difference);
    if (!accept_insertion(s.m.beta, difference, activity, n, word[3])) return true;
    // Only an accepted insertion needs a slot; the test is repeated when there is one.
    if (!has_slot(s, species, moves)) return false;
    put_in(s, species, fresh);
  } else {
    outcome.tried = -1;
    if (n == 0) return true;
    const int slot =
        first + static_cast<int>(uniform_below(word[2], static_cast<std::uint32_t>(n)));
    const F difference = s.change_of_deletion(species, slot);
    // Accepted with the probability min(1, N / (beta f V) exp(-beta dU)).
    outcome.loses = species;
    outcome.probability =
        min_of(n * static_cast<double>(weight(s.m.beta, difference)) / activity, 1.0);
    outcome.difference = static_cast<double>(difference);
    if (!accept_deletion(s.m.beta, difference, activity, n, word[3])) return true;
    take_out(s, species, slot);
  }
  s.accept_waves();
  s.energy += outcome.difference;
  outcome.accepted = true;
  ++moves.accepted_exchanges;
  return true;
}

}  // namespace manymove::adsorption
