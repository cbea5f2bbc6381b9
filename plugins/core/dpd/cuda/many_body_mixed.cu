// SPDX-License-Identifier: BSD-3-Clause
#include "many_body.cuh"

namespace manymove::dpd {
template ManyBodyKernels<Mixed, AllParticles> many_body_kernels<Mixed, AllParticles>(bool, bool,
                                                                                     int);
template ManyBodyKernels<Mixed, From> many_body_kernels<Mixed, From>(bool, bool, int);
}  // namespace manymove::dpd
