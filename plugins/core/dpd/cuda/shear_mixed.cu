// SPDX-License-Identifier: BSD-3-Clause
#include "extra_kernels.cuh"

namespace manymove::dpd {
template StepKernel<Mixed, AllParticles> step_kernel_with<Mixed, AllParticles, Extra::shear>(bool,
                                                                                             bool,
                                                                                             int);
template StepKernel<Mixed, ParticlesFrom> step_kernel_with<Mixed, ParticlesFrom, Extra::shear>(bool,
                                                                                               bool,
                                                                                               int);
}  // namespace manymove::dpd
