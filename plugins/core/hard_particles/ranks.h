// SPDX-License-Identifier: BSD-3-Clause
// A system that ranks divide (strip.h): the engine that answers for all ranks together. What moves
// the particles of a rank is an engine of its strip, to which the strip is the whole.
#pragma once

#include <functional>
#include <memory>

#include "../parallel/communicator.h"
#include "state.h"

namespace manymove::hard_particles {

// `make` returns the engine that moves the particles of this rank and counts those, and sets
// `whole` to its state without the particles. The communicator must outlive the engine. Collective.
std::unique_ptr<Engine> make_engine_of_ranks(
    Communicator& ranks, const std::function<std::unique_ptr<Engine>(State& whole)>& make);

}  // namespace manymove::hard_particles
