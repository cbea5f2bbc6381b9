// SPDX-License-Identifier: BSD-3-Clause
// The steps of a system, one after the other.
#pragma once

#include "exchange.h"
#include "growth_with_trials.h"
#include "several_proposals.h"
#include "translation.h"

namespace manymove::adsorption {

// A step of the methods with one proposal per step. Returns false if it has to wait for a free
// slot.
template <Steps Kind, MoleculesOfTeam System, CountsMoves Counts>
MM_TEAM bool one_proposal(System& s, std::uint64_t step, const CommonDraw& draw, Counts& moves) {
  TrialOutcome outcome;
  if (s.moves_one(draw.kind)) {
    translate(s, step, draw, moves);
  } else if constexpr (Kind == Steps::one) {
    if (!exchange(s, step, moves, outcome)) return false;
  } else {
    if (!grow_with_trials(s, step, draw, moves, outcome)) return false;
  }
  if (s.w.measure) {
    measure_state<true>(s);
    if constexpr (System::kRecordsOutcomes) measure_outcome(s, outcome);
  }
  return true;
}

// Kind is steps_of() of the system's arrays; a GPU has a kernel for each kind.
template <Steps Kind, MoleculesOfTeam System, CountsMoves Counts>
MM_TEAM void run_steps(System& s, Counts& moves) {
  const auto& w = s.w;
  const std::uint64_t first = w.again ? w.reached[s.id] : w.first_step;
  typename System::Draws draws(s.m.key, first);
  std::uint64_t t = first;
  for (; t < w.first_step + w.steps; ++t) {
    if constexpr (Kind == Steps::several)
      move_to_one_of_many(s, t, moves);
    else if (!one_proposal<Kind>(s, t, draws.at(t), moves))
      // No slot is free: the system continues from this step when the arrays have grown.
      break;
    // The energy that is carried along is replaced by the sum itself, so that roundings do not add
    // up.
    if ((t + 1) % kRefresh == 0) s.renew_energy();
  }
  s.store(t);
}

}  // namespace manymove::adsorption
