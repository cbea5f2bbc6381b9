// SPDX-License-Identifier: BSD-3-Clause
// For the sources of the kernels with an extra, one for each extra and precision: they are the
// slowest to compile, and are compiled side by side.
#pragma once

#include "many_body_kernels.cuh"

namespace manymove::dpd {

// In double precision the arithmetic takes so much longer that plain systems have no kernels of
// their own.
template <Precision P, ParticleRange Who, Extra extra>
StepKernel<P, Who> step_kernel_with(bool plain, bool reading, int lanes) {
  if constexpr (kIntegers<P>)
    if (plain) return step_kernel_of<P, true, Who, extra>(reading, lanes);
  return step_kernel_of<P, false, Who, extra>(reading, lanes);
}

template <Precision P, bool plain, ParticleRange Who>
DensityKernel<P, Who> density_kernel_of(int lanes) {
  return lanes == 1   ? &density_kernel<P, plain, 1, Who>
         : lanes == 2 ? &density_kernel<P, plain, 2, Who>
                      : &density_kernel<P, plain, 4, Who>;
}
template <Precision P, ParticleRange Who>
DensityKernel<P, Who> density_kernel_of(bool plain, int lanes) {
  if constexpr (kIntegers<P>)
    if (plain) return density_kernel_of<P, true, Who>(lanes);
  return density_kernel_of<P, false, Who>(lanes);
}

#define MANYMOVE_STEP_KERNELS(P, extra)                                                           \
  template StepKernel<P, AllParticles> step_kernel_with<P, AllParticles, extra>(bool, bool, int); \
  template StepKernel<P, ParticlesFrom> step_kernel_with<P, ParticlesFrom, extra>(bool, bool, int);
#define MANYMOVE_DENSITY_KERNELS(P)                                                      \
  template DensityKernel<P, AllParticles> density_kernel_of<P, AllParticles>(bool, int); \
  template DensityKernel<P, ParticlesFrom> density_kernel_of<P, ParticlesFrom>(bool, int);

}  // namespace manymove::dpd
