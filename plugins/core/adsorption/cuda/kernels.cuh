// SPDX-License-Identifier: BSD-3-Clause
// Kernels in which a warp has a system of point particles. pmc.cuh has those in which a thread has
// one.
#pragma once

#include "../moves/starts.h"
#include "../moves/steps.h"
#include "../moves/test_insertions.h"
#include "../state.h"
#include "warp_points.cuh"

namespace manymove::adsorption {

// Own: proposals of each lane, in steps of several.
template <class F, int Own = 1>
using WarpSystem = PointSystem<Warp, F, WarpPoints<F, Own>>;

template <Steps Kind, int Own, class F>
__global__ void __launch_bounds__(kThreads)
    points_kernel(const __grid_constant__ PointArrays<F> w, DeviceMoveCounts* moves) {
  extern __shared__ __align__(32) char shared[];
  const int system = system_of_warp();
  if (system >= w.systems) return;
  const Warp warp;
  WarpSystem<F, Own> s(w, system, warp, {w, system, shared});
  LaneMoveCounts counted;
  run_steps<Kind>(s, counted);
  if (Warp::leads()) add_counts(moves, counted);
}

template <class F>
__global__ void __launch_bounds__(kThreads)
    place_kernel(const __grid_constant__ PointArrays<F> w, DeviceMoveCounts* moves) {
  extern __shared__ __align__(32) char shared[];
  const int system = system_of_warp();
  if (system >= w.systems) return;
  const Warp warp;
  WarpSystem<F> s(w, system, warp, {w, system, shared});
  if (!place_molecules(s, [&] { return is_stuck(moves, Warp::lane()); }) && Warp::leads())
    atomicOr(&moves->stuck, 1u);
}

template <class F>
__global__ void __launch_bounds__(kThreads)
    energy_kernel(const __grid_constant__ PointArrays<F> w) {
  extern __shared__ __align__(32) char shared[];
  const int system = system_of_warp();
  if (system >= w.systems) return;
  const Warp warp;
  const WarpSystem<F> s(w, system, warp, {w, system, shared});
  const double energy = s.total_energy();
  if (Warp::leads()) w.energies[system] = energy;
}

template <class F>
__global__ void __launch_bounds__(kThreads)
    test_kernel(const __grid_constant__ TestInsertions<PointArrays<F>> t) {
  extern __shared__ __align__(32) char shared[];
  const int system = system_of_warp();
  if (system >= t.arrays.systems) return;
  const Warp warp;
  WarpSystem<F> s(t.arrays, system, warp, {t.arrays, system, shared});
  insert_tests(t, s);
}

}  // namespace manymove::adsorption
