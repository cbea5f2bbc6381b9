// SPDX-License-Identifier: BSD-3-Clause
#include "transverse.cuh"

namespace manymove::dpd {
template StepKernel<Double, AllParticles> transverse_kernel<Double, AllParticles>(bool, bool, int);
template StepKernel<Double, From> transverse_kernel<Double, From>(bool, bool, int);
}  // namespace manymove::dpd
