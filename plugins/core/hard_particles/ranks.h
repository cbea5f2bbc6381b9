// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "crossing.h"
#include "disks_state.h"

namespace manymove::hard_particles {

// The strip of this rank of what rank 0 has, where `whole` is not null. `edges`: first_strips().
// Collective.
Snapshot deal_out(Communicator& ranks, const Snapshot* whole, const std::vector<int>& edges);

// Answers for all ranks together. `make` returns the engine that moves the disks of this rank and
// counts those, and sets `whole` to its state without the disks. Collective.
std::unique_ptr<Engine> make_distributed_engine(
    Communicator& ranks, const std::function<std::unique_ptr<Engine>(State& whole)>& make);

}  // namespace manymove::hard_particles
