// SPDX-License-Identifier: BSD-3-Clause
#include "shear.cuh"

namespace manymove::dpd {
template <>
StepKernel<Double, AllParticles> sheared_kernel<Double>(bool plain, bool reading, int lanes) {
  return choose_sheared_kernel<Double, AllParticles>(plain, reading, lanes);
}
template <>
StepKernel<Double, From> sheared_kernel<Double>(bool plain, bool reading, int lanes) {
  return choose_sheared_kernel<Double, From>(plain, reading, lanes);
}
}  // namespace manymove::dpd
