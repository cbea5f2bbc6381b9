// SPDX-License-Identifier: BSD-3-Clause
#include "transverse.cuh"

namespace manymove::dpd {
template <>
StepKernel<Mixed, AllParticles> transverse_kernel<Mixed>(bool plain, bool reading, int lanes) {
  return choose_transverse_kernel<Mixed>(plain, reading, lanes);
}
}  // namespace manymove::dpd
