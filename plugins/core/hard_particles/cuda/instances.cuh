// SPDX-License-Identifier: BSD-3-Clause
// The kernels of one contact law, for the source that compiles them.
#pragma once

#include "systems_of_particles.cuh"

namespace manymove::hard_particles {
namespace {

// F: NoField, TileField<D> or TileSteps<D>. Systems: whether many systems that share launches can
// use it, too.
template <int D, Contact C, bool Sums, class F, int K, int Lanes, int Runs, int AtOnce, int Threads,
          int Blocks, bool Systems = false>
CycleKernel cycle() {
  using V = Visit<D, C, Sums, K, Lanes, Runs, AtOnce, F>;
  CycleKernel kernel{nullptr, nullptr, Lanes, Threads, V::kRoom, V::kMine};
  if constexpr (F::kIs) {
    kernel.run_in_fields = &cycle_in_fields<D, C, V, Threads, Blocks>;
  } else {
    kernel.run = &cycle_kernel<D, C, V, Threads, Blocks>;
    if constexpr (Systems) kernel.run_systems = &cycle_of_systems<D, C, V, Threads, Blocks>;
  }
  return kernel;
}

template <int D, Contact C, bool Sums, class F>
CycleKernels cycles_in() {
  // Where tiles are few, more threads visit a cell together: latency counts then, and registers are
  // plenty. They are so for three tiles at a time, too. Crowded cells hold many particles, of which
  // a thread loads more at once.
  if constexpr (D == 2)
    return {cycle<D, C, Sums, F, 10, 2, 3, 4, 256, 2, true>(),
            cycle<D, C, Sums, F, 10, 2, 3, 4, 256, 2>(),
            cycle<D, C, Sums, F, 10, 2, 3, 4, 256, 2>(),
            cycle<D, C, Sums, F, 6, 4, 3, 2, 512, 1, true>(),
            cycle<D, C, Sums, F, 6, 4, 3, 2, 512, 1>()};
  else if constexpr (C == Contact::one_size)
    return {cycle<D, C, Sums, F, 8, 2, 3, 3, 256, 2, true>(),
            cycle<D, C, Sums, F, 10, 2, 3, 3, 128, 3>(),
            cycle<D, C, Sums, F, 10, 2, 3, 3, 128, 3>(),
            cycle<D, C, Sums, F, 3, 8, 3, 1, 512, 1, true>(),
            cycle<D, C, Sums, F, 3, 8, 3, 1, 512, 1>()};
  else
    // Steps need more registers than two blocks of 256 threads leave.
    return {F::kSteps ? cycle<D, C, Sums, F, 12, 2, 3, 3, 128, 3>()
                      : cycle<D, C, Sums, F, 10, 2, 3, 3, 256, 2, true>(),
            cycle<D, C, Sums, F, 12, 2, 3, 3, 128, 3>(),
            cycle<D, C, Sums, F, 12, 2, 3, 3, 192, 2>(),
            cycle<D, C, Sums, F, 3, 8, 3, 1, 512, 1, true>(),
            cycle<D, C, Sums, F, 6, 8, 3, 2, 512, 1>()};
}

template <int D, Contact C, bool Sums>
KernelsOfLaw kernels_in() {
  return {cycles_in<D, C, Sums, NoField>(), &histogram_kernel<D, C>, &histogram_of_systems<D, C>};
}

}  // namespace

// Both are instantiated by a source for each law.
template <Contact C, bool Sums>
KernelsOfLaw kernels_of(int dimensions) {
  return dimensions == 2 ? kernels_in<2, C, Sums>() : kernels_in<3, C, Sums>();
}
template <Contact C, bool Sums>
CycleKernels cycles_in_fields(int dimensions) {
  return dimensions == 2 ? cycles_in<2, C, Sums, TileField<2>>()
                         : cycles_in<3, C, Sums, TileField<3>>();
}

}  // namespace manymove::hard_particles
