// SPDX-License-Identifier: BSD-3-Clause
// The grids of the framework, filled by the cores. CUDA engines call it as well: their sources are
// compiled without the SIMD levels.
#pragma once

#include "../runtime/thread_pool.h"
#include "state.h"

namespace manymove::adsorption {

void fill_grid(State& s, ThreadPool& pool, const Poll& poll);

}  // namespace manymove::adsorption
