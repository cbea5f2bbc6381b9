// SPDX-License-Identifier: BSD-3-Clause
#include "transverse.cuh"

namespace manymove::dpd {
template StepKernel<Mixed, AllParticles> transverse_kernel<Mixed, AllParticles>(bool, bool, int);
template StepKernel<Mixed, From> transverse_kernel<Mixed, From>(bool, bool, int);
}  // namespace manymove::dpd
