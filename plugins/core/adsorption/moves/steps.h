// SPDX-License-Identifier: BSD-3-Clause
// The steps of a system, one after the other.
#pragma once

#include "exchange.h"
#include "growth_with_trials.h"
#include "several_proposals.h"

namespace manymove::adsorption {

// A step of the methods with one proposal per step. Returns false if it has to wait for a free
// slot.
template <Steps Kind, class System, class Counts>
MM_TEAM bool one_proposal(System& s, std::uint64_t step, Counts& moves) {
  const auto& w = s.w;
  const CommonDraw draw = common_draw(s.m.key, step);
  TrialOutcome outcome;
  if (draw.kind >= s.m.exchange && draw.kind >= w.identity_below &&
      (!System::kChains || draw.kind >= w.regrow_below)) {
    translate(s, step, draw, moves);
  } else if constexpr (Kind == Steps::one) {
    if (!exchange(s, step, moves, outcome)) return false;
  } else {
    if (!grow_with_trials(s, step, draw, moves, outcome)) return false;
  }
  if (w.measure) {
    measure_state(s);
    measure_outcome(s, outcome);
  }
  return true;
}

// Kind: steps_of(s.w), so that a GPU has a kernel for each.
template <Steps Kind, class System, class Counts>
MM_TEAM void run_steps(System& s, Counts& moves) {
  const auto& w = s.w;
  std::uint64_t t = w.again ? w.reached[s.id] : w.first_step;
  for (; t < w.first_step + w.steps; ++t) {
    if constexpr (Kind == Steps::several)
      move_to_one_of_many(s, t, moves);
    else if (!one_proposal<Kind>(s, t, moves))
      break;
    if ((t + 1) % kRefresh == 0) renew_energy(s);
  }
  if (s.team.leads()) {
    w.energies[s.id] = s.energy;
    if (w.reached) w.reached[s.id] = t;
  }
}

}  // namespace manymove::adsorption
