// SPDX-License-Identifier: BSD-3-Clause
// Friction and noise across the line of centers on a GPU, whose kernels are compiled in sources of
// their own.
#pragma once

#include "step_kernels.cuh"

namespace manymove::dpd {

// plain: as in is_plain().
template <class P>
StepKernel<P, AllParticles> transverse_kernel(bool plain, bool reading, int lanes);

template <class P, bool plain, bool reading>
StepKernel<P, AllParticles> transverse_kernel_of(int lanes) {
  switch (lanes) {
    case 1:
      return &step_kernel<P, plain, reading, 1, AllParticles, Extra::transverse>;
    case 2:
      return &step_kernel<P, plain, reading, 2, AllParticles, Extra::transverse>;
    default:
      return &step_kernel<P, plain, reading, 4, AllParticles, Extra::transverse>;
  }
}

// As with many-body forces, plain systems have kernels of their own in mixed precision only.
template <class P>
StepKernel<P, AllParticles> choose_transverse_kernel(bool plain, bool reading, int lanes) {
  if constexpr (kIntegers<P>)
    if (plain)
      return reading ? transverse_kernel_of<P, true, true>(lanes)
                     : transverse_kernel_of<P, true, false>(lanes);
  return reading ? transverse_kernel_of<P, false, true>(lanes)
                 : transverse_kernel_of<P, false, false>(lanes);
}

}  // namespace manymove::dpd
