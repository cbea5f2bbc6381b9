// SPDX-License-Identifier: BSD-3-Clause
// The engines of each backend, of which make_engine() of engine.h chooses one.
#pragma once

#include <memory>

#include "state.h"

namespace manymove::harddisk {

// threads: at least one.
std::unique_ptr<Engine> make_cpu_engine(State state, int threads);
// Throws std::invalid_argument for a device that does not exist, and in a
// build without CUDA.
std::unique_ptr<Engine> make_cuda_engine(State state, int device);

}  // namespace manymove::harddisk
