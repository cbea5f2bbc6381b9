// SPDX-License-Identifier: BSD-3-Clause
#include "many_body.cuh"

namespace manymove::dpd {
template ManyBodyKernels<Double> many_body_kernels<Double>(bool, bool, int);
}
