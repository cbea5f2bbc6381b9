// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>

#include "state.h"

namespace manymove::adsorption {

// What fills the state with molecules, once its grid is there; none: the engine places them.
using Adopt = std::function<void(State&)>;
std::unique_ptr<Engine> make_cuda_engine(State state, const Adopt& molecules, int device);

}  // namespace manymove::adsorption
