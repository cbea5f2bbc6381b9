// SPDX-License-Identifier: BSD-3-Clause
#include "extra_kernels.cuh"

namespace manymove::dpd {
MANYMOVE_STEP_KERNELS(Mixed, Extra::potential)
}  // namespace manymove::dpd
