// SPDX-License-Identifier: BSD-3-Clause
// What engines on CPUs send each other, and where particles are.
#pragma once

#include "../decomposition.h"
#include "step_rows.h"

namespace manymove::dpd {

// What a particle has, on its way to another rank.
template <class P>
struct MigrantOf {
  typename P::Position position;
  typename P::Velocity velocity;
  Image image;
  Origin origin;
};
// A ghost when lists are built, and between builds.
template <class P>
struct GhostOf {
  typename P::Position position;
  typename P::Velocity velocity;
};
template <class P>
struct GhostUpdateOf {  // without what does not change
  typename P::Unsigned x, y, z;
  typename P::Real vx, vy, vz;
};

struct alignas(16) Place {  // high words of a position
  std::uint32_t x, y, z, unused;
};

}  // namespace manymove::dpd
