// SPDX-License-Identifier: BSD-3-Clause
#include "extra_kernels.cuh"

namespace manymove::dpd {
template StepKernel<Double, AllParticles> step_kernel_with<Double, AllParticles, Extra::many_body>(
    bool, bool, int);
template DensityKernel<Double, AllParticles> density_kernel_of<Double, AllParticles>(bool, int);
template StepKernel<Double, ParticlesFrom>
step_kernel_with<Double, ParticlesFrom, Extra::many_body>(bool, bool, int);
template DensityKernel<Double, ParticlesFrom> density_kernel_of<Double, ParticlesFrom>(bool, int);
}  // namespace manymove::dpd
