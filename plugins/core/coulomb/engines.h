// SPDX-License-Identifier: BSD-3-Clause
// The engines of each backend, of which make_engine() of engine.h chooses one.
#pragma once

#include <memory>
#include <vector>

#include "state.h"

namespace manymove::coulomb {

// threads: at least one.
std::unique_ptr<Engine> make_cpu_engine(State state, int threads);
// One chain on one or several devices. Throws std::invalid_argument for a device that does not
// exist, and in a
// build without CUDA.
std::unique_ptr<Engine> make_cuda_engine(State state, const std::vector<int>& devices);

}  // namespace manymove::coulomb
