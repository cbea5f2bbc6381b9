// SPDX-License-Identifier: BSD-3-Clause
// Friction and noise across the line of centers on a GPU, whose kernels are compiled in sources of
// their own.
#pragma once

#include "step_kernels.cuh"

namespace manymove::dpd {

// plain: as in is_plain().
template <class P>
StepKernel<P, AllParticles> transverse_kernel(bool plain, bool reading, int lanes);

// As with many-body forces, plain systems have kernels of their own in mixed precision only.
template <class P>
StepKernel<P, AllParticles> choose_transverse_kernel(bool plain, bool reading, int lanes) {
  if constexpr (kIntegers<P>)
    if (plain)
      return reading ? step_kernel_of<P, true, true, AllParticles, Extra::transverse>(lanes)
                     : step_kernel_of<P, true, false, AllParticles, Extra::transverse>(lanes);
  return reading ? step_kernel_of<P, false, true, AllParticles, Extra::transverse>(lanes)
                 : step_kernel_of<P, false, false, AllParticles, Extra::transverse>(lanes);
}

}  // namespace manymove::dpd
