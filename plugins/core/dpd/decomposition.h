// SPDX-License-Identifier: BSD-3-Clause
// The box shared among ranks: each has the particles in its part and copies of those in reach of
// it, ghosts. A position is an integer of the whole frame on every rank, so that a ghost is a plain
// copy and belongs to its nearest image by itself.
#pragma once

#include "../parallel/bricks.h"
#include "../parallel/rendezvous.h"
#include "engine.h"

namespace manymove::dpd {

// A particle on its way to its origin.
struct Arrival {
  std::int32_t index;
  int image[3];
  double position[3], velocity[3], force[3];

  void enter(const HostArrays& arrays) const;
};

// Parts are bricks of the frame, in high words of positions.
class Decomposition : public BrickDecomposition {
 public:
  // Ranks know what is within cutoff + skin + ahead of their parts. Throws std::invalid_argument
  // for a grid that does not fit the communicator.
  Decomposition(const Settings& settings, Communicator& communicator, double ahead = 0);
};

}  // namespace manymove::dpd
