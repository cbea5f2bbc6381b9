// SPDX-License-Identifier: BSD-3-Clause
#include "transverse.cuh"

namespace manymove::dpd {
template <>
StepKernel<Double, AllParticles> transverse_kernel<Double>(bool plain, bool reading, int lanes) {
  return choose_transverse_kernel<Double>(plain, reading, lanes);
}
}  // namespace manymove::dpd
