// SPDX-License-Identifier: BSD-3-Clause
#include "shear.cuh"

namespace manymove::dpd {
template <>
StepKernel<Mixed, AllParticles> sheared_kernel<Mixed>(bool plain, bool reading, int lanes) {
  return choose_sheared_kernel<Mixed, AllParticles>(plain, reading, lanes);
}
template <>
StepKernel<Mixed, From> sheared_kernel<Mixed>(bool plain, bool reading, int lanes) {
  return choose_sheared_kernel<Mixed, From>(plain, reading, lanes);
}
}  // namespace manymove::dpd
