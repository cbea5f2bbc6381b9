// SPDX-License-Identifier: BSD-3-Clause
// The kernels of one contact law, for the source that compiles them.
#pragma once

#include "systems_of_particles.cuh"

namespace manymove::hard_particles {
namespace {

// Systems: whether many systems that share launches can use it, too.
template <int D, Contact C, bool Sums, int K, int Lanes, int Runs, int AtOnce, int Threads,
          int Blocks, bool Systems = false>
CycleKernel cycle() {
  using V = Visit<D, C, Sums, K, Lanes, Runs, AtOnce>;
  CycleKernel kernel{&cycle_kernel<D, C, V, Threads, Blocks>, Lanes, Threads, V::kRoom, V::kMine};
  if constexpr (Systems) kernel.run_systems = &cycle_of_systems<D, C, V, Threads, Blocks>;
  return kernel;
}

template <int D, Contact C, bool Sums>
KernelsOfLaw kernels_in() {
  // Where tiles are few, more threads visit a cell together: latency counts then, and registers are
  // plenty. They are so for three tiles at a time, too. Crowded cells hold many particles, of which
  // a thread loads more at once.
  constexpr auto histogram = &histogram_kernel<D, C>;
  constexpr auto of_systems = &histogram_of_systems<D, C>;
  if constexpr (D == 2)
    return {cycle<D, C, Sums, 10, 2, 3, 4, 256, 2, true>(),
            cycle<D, C, Sums, 10, 2, 3, 4, 256, 2>(),
            cycle<D, C, Sums, 10, 2, 3, 4, 256, 2>(),
            cycle<D, C, Sums, 6, 4, 3, 2, 512, 1, true>(),
            cycle<D, C, Sums, 6, 4, 3, 2, 512, 1>(),
            histogram,
            of_systems};
  else if constexpr (C == Contact::one_size)
    return {cycle<D, C, Sums, 8, 2, 3, 3, 256, 2, true>(),
            cycle<D, C, Sums, 10, 2, 3, 3, 128, 3>(),
            cycle<D, C, Sums, 10, 2, 3, 3, 128, 3>(),
            cycle<D, C, Sums, 3, 8, 3, 1, 512, 1, true>(),
            cycle<D, C, Sums, 3, 8, 3, 1, 512, 1>(),
            histogram,
            of_systems};
  else
    return {cycle<D, C, Sums, 10, 2, 3, 3, 256, 2, true>(),
            cycle<D, C, Sums, 12, 2, 3, 3, 128, 3>(),
            cycle<D, C, Sums, 12, 2, 3, 3, 192, 2>(),
            cycle<D, C, Sums, 3, 8, 3, 1, 512, 1, true>(),
            cycle<D, C, Sums, 6, 8, 3, 2, 512, 1>(),
            histogram,
            of_systems};
}

}  // namespace

// Instantiated by a source for each law.
template <Contact C, bool Sums>
KernelsOfLaw kernels_of(int dimensions) {
  return dimensions == 2 ? kernels_in<2, C, Sums>() : kernels_in<3, C, Sums>();
}

}  // namespace manymove::hard_particles
