// SPDX-License-Identifier: BSD-3-Clause
#include "extra_kernels.cuh"

namespace manymove::dpd {
template StepKernel<Mixed, AllParticles> step_kernel_with<Mixed, AllParticles, Extra::many_body>(
    bool, bool, int);
template DensityKernel<Mixed, AllParticles> density_kernel_of<Mixed, AllParticles>(bool, int);
template StepKernel<Mixed, ParticlesFrom> step_kernel_with<Mixed, ParticlesFrom, Extra::many_body>(
    bool, bool, int);
template DensityKernel<Mixed, ParticlesFrom> density_kernel_of<Mixed, ParticlesFrom>(bool, int);
}  // namespace manymove::dpd
