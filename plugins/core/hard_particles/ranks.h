// SPDX-License-Identifier: BSD-3-Clause
// A system that ranks divide (strip.h): how its particles come to the ranks and back. What answers
// for all ranks together is StateEngine.
#pragma once

#include "state.h"

namespace manymove::hard_particles {

// What all ranks have, as the snapshot of the whole on rank 0: in the order of the indices, or of
// equal disks in that of the ranks, with indices. Collective.
Snapshot particles_of_all(const State& state, const Snapshot& mine);

}  // namespace manymove::hard_particles
