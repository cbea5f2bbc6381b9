// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "many_body_kernels.cuh"

namespace manymove::dpd {

template <class P, class Who, bool plain, int lanes>
ManyBodyKernels<P, Who> many_body_kernels_of(bool reading) {
  return {&density_kernel<P, plain, lanes, Who>,
          reading ? &step_kernel<P, plain, true, lanes, Who, Extra::many_body>
                  : &step_kernel<P, plain, false, lanes, Who, Extra::many_body>};
}
template <class P, class Who, bool plain>
ManyBodyKernels<P, Who> many_body_kernels_of(bool reading, int lanes) {
  switch (lanes) {
    case 1:
      return many_body_kernels_of<P, Who, plain, 1>(reading);
    case 2:
      return many_body_kernels_of<P, Who, plain, 2>(reading);
    default:
      return many_body_kernels_of<P, Who, plain, 4>(reading);
  }
}

// In double precision the arithmetic takes so much longer that plain systems have no kernels of
// their own.
template <class P, class Who>
ManyBodyKernels<P, Who> many_body_kernels(bool plain, bool reading, int lanes) {
  if constexpr (kIntegers<P>)
    if (plain) return many_body_kernels_of<P, Who, true>(reading, lanes);
  return many_body_kernels_of<P, Who, false>(reading, lanes);
}

}  // namespace manymove::dpd
