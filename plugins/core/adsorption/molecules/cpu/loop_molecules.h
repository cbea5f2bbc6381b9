// SPDX-License-Identifier: BSD-3-Clause
// Molecules of a system on a CPU. Included only by sources that are compiled once per SIMD level.
#pragma once

#include "../../cpu/loop_team.h"
#include "../system.h"

namespace manymove::adsorption::MANYMOVE_SIMD {
namespace {

template <class F>
MoleculeScratch<F> scratch_in(const MoleculeArrays<F>& w, void* memory) {
  auto* const from = static_cast<char*>(memory);
  return {TeamPointer<char>{from}, w, reinterpret_cast<F*>(from + MoleculeScratch<F>::bytes(w))};
}

template <LaneTeam TeamOf, class F, class Run>
void with_system(const MoleculeArrays<F>& w, int system, void* memory, const Run& run) {
  const MoleculeScratch<F> scratch = scratch_in(w, memory);
  constexpr TeamOf kTeam;
  if (w.chains.sites) {
    MoleculeSystem<TeamOf, F, true> s(w, system, kTeam, scratch);
    run(s);
  } else {
    MoleculeSystem<TeamOf, F> s(w, system, kTeam, scratch);
    run(s);
  }
}

}  // namespace
}  // namespace manymove::adsorption::MANYMOVE_SIMD
