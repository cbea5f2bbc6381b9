// SPDX-License-Identifier: BSD-3-Clause
#include "extra_kernels.cuh"

namespace manymove::dpd {
template StepKernel<Mixed, AllParticles> step_kernel_with<Mixed, AllParticles, Extra::transverse>(
    bool, bool, int);
template StepKernel<Mixed, ParticlesFrom> step_kernel_with<Mixed, ParticlesFrom, Extra::transverse>(
    bool, bool, int);
}  // namespace manymove::dpd
