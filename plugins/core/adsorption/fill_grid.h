// SPDX-License-Identifier: BSD-3-Clause
// The grids of the framework, filled by the cores or by a GPU with the same bits.
#pragma once

#include "../runtime/thread_pool.h"
#include "state.h"

namespace manymove::adsorption {

void fill_grid(State& s, ThreadPool& pool, const Poll& poll);

}  // namespace manymove::adsorption
