// SPDX-License-Identifier: BSD-3-Clause
// One proposal per step: a molecule is displaced or rotated, and the move is accepted by Eq. 2 of
// the paper.
#pragma once

#include "../averages.h"

namespace manymove::adsorption {

template <MoleculesOfTeam System, CountsMoves Counts>
MM_TEAM void translate(System& s, std::uint64_t step, const CommonDraw& draw, Counts& moves) {
  using F = typename System::Real;
  const int n = count_molecules(s);
  if (n == 0) return;
  int species;
  const auto k = uniform_below(draw.molecule, static_cast<std::uint32_t>(n));
  const int slot = find_molecule(s, static_cast<int>(k), species);
  // Every molecule is equally likely, and the choice does not depend on the state: detailed balance
  // needs no factor.
  const auto& body = s.body_of(species, slot);
  std::uint32_t word[4];
  random_words(word, s.m.key, step, static_cast<std::uint32_t>(s.id), 0u, Purpose::propose);
  const auto old = s.placed(slot), fresh = s.small_move(body, draw.kind & 1, old, word);
  // Eq. 5: the change of the energy with the other molecules and with the framework.
  const F difference = min_of(s.change_of_move(body, slot, fresh, old), F(kForbidden));
  const bool accept = metropolis(s.m.beta, difference, word[3]);
  if (accept) {
    s.put(species, slot, fresh);
    s.accept_waves();
    s.energy += static_cast<double>(difference);
    ++moves.accepted;
  }
  if (s.w.measure && s.m.bins && s.team.leads())
    count_in_profile(s, center_of(accept ? fresh : old), 1);
}

}  // namespace manymove::adsorption
