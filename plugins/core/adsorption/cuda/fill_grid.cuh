// SPDX-License-Identifier: BSD-3-Clause
// The grids of the framework, filled by a GPU as fill_grid.h fills them by cores.
#pragma once

#include <cuda_runtime.h>

#include "../state.h"

namespace manymove::adsorption {

// Fills the grids of points or molecules on the current device, or takes those of another engine.
void fill_grid_on_device(State& s, cudaStream_t stream, const Poll& poll);

}  // namespace manymove::adsorption
