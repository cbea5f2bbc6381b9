// SPDX-License-Identifier: BSD-3-Clause
// The box shared among ranks: each has the particles in its part and copies of those in reach of
// it, ghosts. A position is an integer of the whole frame on every rank, so that a ghost is a plain
// copy and belongs to its nearest image by itself.
#pragma once

#include "../parallel/bricks.h"
#include "engine.h"

namespace manymove::dpd {

// Parts are bricks of the frame, in high words of positions. Ranks know what is within cutoff +
// skin + ahead of their parts. Throws std::invalid_argument for a grid that does not fit the
// communicator.
BrickDecomposition decomposition_of(const Settings& settings, Communicator& communicator,
                                    double ahead = 0);

}  // namespace manymove::dpd
