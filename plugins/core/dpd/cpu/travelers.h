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

// What a particle has, on its way to the arrays of its host.
template <class P, class Force>
Arrival arrival_of(const BoxFrame& frame, const Origin& origin,
                   const typename P::Position& position, const typename P::Velocity& velocity,
                   const Force& force, const Image& image) {
  Arrival arrival;
  const auto set = [](auto& to, const auto& from) {
    to[0] = from.x, to[1] = from.y, to[2] = from.z;
  };
  arrival.index = origin.index;
  leave_frame<P>(frame, position, arrival.position);
  set(arrival.velocity, velocity);
  set(arrival.force, force);
  set(arrival.image, image);
  return arrival;
}

struct alignas(16) Place {  // high words of a position
  std::uint32_t x, y, z, unused;
};

}  // namespace manymove::dpd
