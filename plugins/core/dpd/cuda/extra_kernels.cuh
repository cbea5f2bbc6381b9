// SPDX-License-Identifier: BSD-3-Clause
// For the sources of the kernels with an extra, one for each extra and precision: they are the
// slowest to compile, and are compiled side by side.
#pragma once

#include "many_body_kernels.cuh"

namespace manymove::dpd {

template <Precision P, ParticleRange Who, Extra extra>
StepKernel<P, Who> step_kernel_with(bool plain, bool reading, int lanes) {
  return kernel_of_step<P, Who, extra>(plain, reading, lanes);
}

template <Precision P, ParticleRange Who>
DensityKernel<P, Who> density_kernel_of(bool plain, int lanes) {
  return for_constant<1, 2, 4>(lanes, [=](auto per_particle) {
    return for_constant<false, true>(plain, [=](auto is_plain) -> DensityKernel<P, Who> {
      constexpr bool plain_kernel = is_plain && kIntegers<P>;
      return &density_kernel<P, plain_kernel, per_particle, Who>;
    });
  });
}

#define MANYMOVE_STEP_KERNELS(P, extra)                                                           \
  template StepKernel<P, AllParticles> step_kernel_with<P, AllParticles, extra>(bool, bool, int); \
  template StepKernel<P, ParticlesFrom> step_kernel_with<P, ParticlesFrom, extra>(bool, bool, int);
#define MANYMOVE_DENSITY_KERNELS(P)                                                      \
  template DensityKernel<P, AllParticles> density_kernel_of<P, AllParticles>(bool, int); \
  template DensityKernel<P, ParticlesFrom> density_kernel_of<P, ParticlesFrom>(bool, int);

}  // namespace manymove::dpd
