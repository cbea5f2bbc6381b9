// SPDX-License-Identifier: BSD-3-Clause
#include "extra_kernels.cuh"

namespace manymove::dpd {
template StepKernel<Double, AllParticles> step_kernel_with<Double, AllParticles, Extra::shear>(bool,
                                                                                               bool,
                                                                                               int);
template StepKernel<Double, ParticlesFrom> step_kernel_with<Double, ParticlesFrom, Extra::shear>(
    bool, bool, int);
}  // namespace manymove::dpd
