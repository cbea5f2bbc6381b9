// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "state.h"

namespace manymove::coulomb {

std::unique_ptr<Engine> make_cuda_engine(State state, int device);

}  // namespace manymove::coulomb
