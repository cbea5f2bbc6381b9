// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "state.h"

namespace manymove::coulomb {

// One chain on one or several devices.
std::unique_ptr<Engine> make_cuda_engine(State state, const std::vector<int>& devices);

}  // namespace manymove::coulomb
