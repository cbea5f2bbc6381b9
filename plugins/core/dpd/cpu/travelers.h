// SPDX-License-Identifier: BSD-3-Clause
// What engines on CPUs send each other, and where particles are.
#pragma once

#include <algorithm>
#include <atomic>
#include <vector>

#include "../../runtime/parallel_for.h"
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

// The largest tag of the first `count` particles that are outside the box where it is not periodic.
template <class Position, class Velocity>
std::uint32_t largest_outside(ThreadPool& pool, std::uint32_t open, int count,
                              const std::vector<Position>& position,
                              const std::vector<Velocity>& velocity) {
  std::atomic<std::uint32_t> escaped = 0;
  if (open == 0) return 0;
  for_each_range(pool, count, [&](int first, int last) {
    std::uint32_t largest = 0;
    for (int i = first; i < last; ++i) {
      const Position& p = position[i];
      if (outside(open, high_word(p.x), high_word(p.y), high_word(p.z)))
        largest = std::max(largest, velocity[i].tag);
    }
    std::uint32_t known = escaped;
    while (known < largest && !escaped.compare_exchange_weak(known, largest)) {
    }
  });
  return escaped;
}

}  // namespace manymove::dpd
