// SPDX-License-Identifier: BSD-3-Clause
// The kernels of one contact law, for the source that compiles them.
#pragma once

#include "kernels.cuh"

namespace manymove::hard_particles::spheres {
namespace {

template <int D, Contact C>
KernelsOfLaw kernels_in() {
  // Where tiles are few, more threads visit a cell together: latency counts then, and registers are
  // plenty.
  return {{&cycle_kernel<D, C, Visit<D, C, 8, 2>, 256, 2>, 2, 256},
          {&cycle_kernel<D, C, Visit<D, C, 4, 8>, 512, 1>, 8, 512},
          &histogram_kernel<D, C>};
}

template <Contact C>
KernelsOfLaw kernels_here(int dimensions) {
  return dimensions == 2 ? kernels_in<2, C>() : kernels_in<3, C>();
}

}  // namespace
}  // namespace manymove::hard_particles::spheres
