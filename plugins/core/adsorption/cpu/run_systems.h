// SPDX-License-Identifier: BSD-3-Clause
// The kernels of a core for systems of point particles and of molecules. with_system<Team>(w,
// system, memory, run), which calls run(system), stands before this: in loop_points.h, or in
// molecules/cpu/loop_molecules.h. Included only by sources that are compiled once per SIMD level.
#pragma once

#include <type_traits>

#include "../moves/starts.h"
#include "../moves/steps.h"
#include "../moves/test_insertions.h"

namespace manymove::adsorption::MANYMOVE_SIMD {
namespace {

template <LaneTeam TeamOf, class Arrays>
void run_as(const Arrays& w, int system, void* memory, MoveCounts& moves) {
  const Steps kind = steps_of(w);
  with_system<TeamOf>(w, system, memory, [&](auto& s) {
    using System = std::remove_reference_t<decltype(s)>;
    if constexpr (System::kChains) {
      run_steps<Steps::chains>(s, moves);
    } else if (kind == Steps::trials) {
      if constexpr (System::kRecordsOutcomes) run_steps<Steps::trials>(s, moves);
    } else if (kind == Steps::several) {
      if constexpr (System::kLanes > 1) run_steps<Steps::several>(s, moves);
    } else {
      run_steps<Steps::one>(s, moves);
    }
  });
}

// The method metropolis adds up energies one by one, the others as a warp does.
template <class Arrays>
void run_system(const Arrays& w, int system, void* memory, MoveCounts& moves) {
  if (w.method == Method::metropolis)
    run_as<Alone>(w, system, memory, moves);
  else
    run_as<Team>(w, system, memory, moves);
}

// Compiled for size, because it runs once in a simulation.
template <class Arrays>
[[gnu::cold]] void place_molecules(const Arrays& w, int system, void* memory, MoveCounts& moves) {
  if (moves.stuck) return;  // where one system finds no room, the others are not tried
  with_system<Team>(w, system, memory, [&](auto& s) { moves.stuck = !place_molecules(s); });
}

template <class Arrays>
void sum_energies(const Arrays& w, int system, void* memory) {
  with_system<Team>(w, system, memory, [&](auto& s) { w.energies[system] = s.total_energy(); });
}

template <class Arrays>
void insert_test_molecules(const TestInsertions<Arrays>& t, int system, void* memory) {
  with_system<Team>(t.arrays, system, memory, [&](auto& s) { insert_tests(t, s); });
}

template <class Arrays>
Kernels<Arrays> kernels_of(void (*run)(const Arrays&, int, void*, MoveCounts&)) {
  return {run, &place_molecules<Arrays>, &sum_energies<Arrays>, &insert_test_molecules<Arrays>};
}

}  // namespace
}  // namespace manymove::adsorption::MANYMOVE_SIMD
