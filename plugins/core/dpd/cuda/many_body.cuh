// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "many_body_kernels.cuh"

namespace manymove::dpd {

template <class P, bool plain, int lanes>
ManyBodyKernels<P> many_body_kernels_of(bool reading) {
  return {&density_kernel<P, plain, lanes>,
          reading ? &step_kernel<P, plain, true, lanes, AllParticles, Extra::many_body>
                  : &step_kernel<P, plain, false, lanes, AllParticles, Extra::many_body>};
}
template <class P, bool plain>
ManyBodyKernels<P> many_body_kernels_of(bool reading, int lanes) {
  switch (lanes) {
    case 1:
      return many_body_kernels_of<P, plain, 1>(reading);
    case 2:
      return many_body_kernels_of<P, plain, 2>(reading);
    default:
      return many_body_kernels_of<P, plain, 4>(reading);
  }
}

// In double precision the arithmetic takes so much longer that plain systems have no kernels of
// their own.
template <class P>
ManyBodyKernels<P> many_body_kernels(bool plain, bool reading, int lanes) {
  if constexpr (kIntegers<P>)
    if (plain) return many_body_kernels_of<P, true>(reading, lanes);
  return many_body_kernels_of<P, false>(reading, lanes);
}

}  // namespace manymove::dpd
