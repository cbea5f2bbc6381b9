// SPDX-License-Identifier: BSD-3-Clause
#include "many_body.cuh"

namespace manymove::dpd {
template ManyBodyKernels<Mixed> many_body_kernels<Mixed>(bool, bool, int);
}
