// SPDX-License-Identifier: BSD-3-Clause
#include "many_body.cuh"

namespace manymove::dpd {
template ManyBodyKernels<Double, AllParticles> many_body_kernels<Double, AllParticles>(bool, bool,
                                                                                       int);
template ManyBodyKernels<Double, From> many_body_kernels<Double, From>(bool, bool, int);
}  // namespace manymove::dpd
