// SPDX-License-Identifier: BSD-3-Clause
// Kernels in which a warp has a system, of point particles or of molecules. pmc.cuh has those in
// which a thread has one. Maker makes the system in the memory of the warp, and calls work(system):
// PointsOfWarp, or MoleculesOfWarp of molecules/cuda/molecules_engine.cu.
#pragma once

#include "../moves/starts.h"
#include "../moves/steps.h"
#include "../moves/test_insertions.h"
#include "warp_team.cuh"

namespace manymove::adsorption {

template <class Maker, Steps Kind, class Arrays>
__global__ void __launch_bounds__(kThreads)
    run_kernel(const __grid_constant__ Arrays w, DeviceMoveCounts* moves) {
  const int system = system_of_warp();
  if (system >= w.systems) return;
  Maker::make(w, system, [&](auto& s) {
    LaneMoveCounts counted;
    run_steps<Kind>(s, counted);
    Warp::sync();
    if (Warp::leads()) add_counts(moves, counted);
  });
}

template <class Maker, class Arrays>
__global__ void __launch_bounds__(kThreads)
    place_kernel(const __grid_constant__ Arrays w, DeviceMoveCounts* moves) {
  const int system = system_of_warp();
  if (system >= w.systems) return;
  Maker::make(w, system, [&](auto& s) {
    if (!place_molecules(s, [&] { return is_stuck(moves, Warp::lane()); }) && Warp::leads())
      atomicOr(&moves->stuck, 1u);
  });
}

template <class Maker, class Arrays>
__global__ void __launch_bounds__(kThreads) energy_kernel(const __grid_constant__ Arrays w) {
  const int system = system_of_warp();
  if (system >= w.systems) return;
  Maker::make(w, system, [&](auto& s) {
    const double energy = s.total_energy();
    if (Warp::leads()) w.energies[system] = energy;
  });
}

template <class Maker, class Arrays>
__global__ void __launch_bounds__(kThreads)
    test_kernel(const __grid_constant__ TestInsertions<Arrays> t) {
  const int system = system_of_warp();
  if (system >= t.arrays.systems) return;
  Maker::make(t.arrays, system, [&](auto& s) { insert_tests(t, s); });
}

// Those that an engine launches besides the steps.
template <class Arrays>
struct WarpKernels {
  void (*place)(Arrays, DeviceMoveCounts*);
  void (*sum_energies)(Arrays);
  void (*insert_tests)(TestInsertions<Arrays>);

  template <class Maker>
  static WarpKernels with() {
    return {&place_kernel<Maker, Arrays>, &energy_kernel<Maker, Arrays>,
            &test_kernel<Maker, Arrays>};
  }
};

}  // namespace manymove::adsorption
