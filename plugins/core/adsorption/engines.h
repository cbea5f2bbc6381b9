// SPDX-License-Identifier: BSD-3-Clause
// The engines of each backend, of which make_engine() of engine.h chooses one.
#pragma once

#include <functional>
#include <memory>

#include "state.h"

namespace manymove::adsorption {

// What fills the state with molecules, once its grid is there; none: the engine places them.
using Adopt = std::function<void(State&)>;

// threads: at least one.
std::unique_ptr<Engine> make_cpu_engine(State state, const Adopt& molecules, int threads);
// Throws std::invalid_argument for a device that does not exist, and in a
// build without CUDA.
std::unique_ptr<Engine> make_cuda_engine(State state, const Adopt& molecules, int device);

}  // namespace manymove::adsorption
