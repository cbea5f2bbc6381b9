// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "transverse_kernels.cuh"

namespace manymove::dpd {

template <class P, class Who, bool plain, bool reading>
StepKernel<P, Who> transverse_kernel_of(int lanes) {
  switch (lanes) {
    case 1:
      return &step_kernel<P, plain, reading, 1, Who, Extra::transverse>;
    case 2:
      return &step_kernel<P, plain, reading, 2, Who, Extra::transverse>;
    default:
      return &step_kernel<P, plain, reading, 4, Who, Extra::transverse>;
  }
}

// As with many-body forces, plain systems have kernels of their own in mixed precision only.
template <class P, class Who>
StepKernel<P, Who> transverse_kernel(bool plain, bool reading, int lanes) {
  if constexpr (kIntegers<P>)
    if (plain)
      return reading ? transverse_kernel_of<P, Who, true, true>(lanes)
                     : transverse_kernel_of<P, Who, true, false>(lanes);
  return reading ? transverse_kernel_of<P, Who, false, true>(lanes)
                 : transverse_kernel_of<P, Who, false, false>(lanes);
}

}  // namespace manymove::dpd
