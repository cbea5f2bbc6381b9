// SPDX-License-Identifier: BSD-3-Clause
#include "extra_kernels.cuh"

namespace manymove::dpd {
template StepKernel<Mixed, AllParticles> step_kernel_with<Mixed, AllParticles, Extra::transverse>(
    bool, bool, int);
template StepKernel<Mixed, From> step_kernel_with<Mixed, From, Extra::transverse>(bool, bool, int);
}  // namespace manymove::dpd
