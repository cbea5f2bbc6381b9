// SPDX-License-Identifier: BSD-3-Clause
// Friction and noise across the line of centers on a GPU, whose kernels are compiled in sources of
// their own.
#pragma once

#include "step_kernels.cuh"

namespace manymove::dpd {

// Who: AllParticles or From. plain: as in is_plain().
template <class P, class Who>
StepKernel<P, Who> transverse_kernel(bool plain, bool reading, int lanes);

}  // namespace manymove::dpd
