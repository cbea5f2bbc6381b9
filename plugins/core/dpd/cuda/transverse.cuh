// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "transverse_kernels.cuh"

namespace manymove::dpd {

// As with many-body forces, plain systems have kernels of their own in mixed precision only.
template <class P, class Who>
StepKernel<P, Who> transverse_kernel(bool plain, bool reading, int lanes) {
  if constexpr (kIntegers<P>)
    if (plain)
      return reading ? step_kernel_of<P, true, true, Who, Extra::transverse>(lanes)
                     : step_kernel_of<P, true, false, Who, Extra::transverse>(lanes);
  return reading ? step_kernel_of<P, false, true, Who, Extra::transverse>(lanes)
                 : step_kernel_of<P, false, false, Who, Extra::transverse>(lanes);
}

}  // namespace manymove::dpd
