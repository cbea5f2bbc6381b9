// SPDX-License-Identifier: BSD-3-Clause
#include "extra_kernels.cuh"

namespace manymove::dpd {
template StepKernel<Double, AllParticles> step_kernel_with<Double, AllParticles, Extra::many_body>(
    bool, bool, int);
template DensityKernel<Double, AllParticles> density_kernel_of<Double, AllParticles>(bool, int);
template StepKernel<Double, From> step_kernel_with<Double, From, Extra::many_body>(bool, bool, int);
template DensityKernel<Double, From> density_kernel_of<Double, From>(bool, int);
}  // namespace manymove::dpd
