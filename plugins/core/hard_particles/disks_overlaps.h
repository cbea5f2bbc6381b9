// SPDX-License-Identifier: BSD-3-Clause
// Overlaps of disks in float64, independent of the engine's grid.
#pragma once

#include <cstddef>

namespace manymove::hard_particles {

struct ClosePair {
  std::size_t first = 0, second = 0;
  double distance2;  // infinite if no two disks are within a diameter or so
};

// The closest pair of the `n` disks at xy, [n][2], in a periodic box, or a close one if hundreds of
// disks overlap at one place.
ClosePair closest_pair(const double* xy, std::size_t n, const double* box, double diameter);

}  // namespace manymove::hard_particles
