// SPDX-License-Identifier: BSD-3-Clause
// Changes of velocities on threads of the CPU: sums over a group, and the velocities that follow.
#pragma once

#include <mutex>
#include <vector>

#include "../../runtime/parallel_for.h"
#include "../velocity_changes.h"

namespace manymove::dpd {

template <class Position, class Velocity>
Moments moments_of(ThreadPool& pool, int count, std::uint32_t flag,
                   const std::vector<double>& units, const std::vector<Position>& position,
                   const std::vector<Velocity>& velocity) {
  std::mutex lock;
  Moments sums;
  for_each_range(pool, count, [&](int first, int last) {
    Moments part;
    for (int i = first; i < last; ++i)
      add_moments(part, flag, units.data(), position[i], velocity[i]);
    const std::lock_guard<std::mutex> guard(lock);
    for (int k = 0; k < 2 * Moments::kSums; ++k) sums.word[k] += part.word[k];
  });
  return sums;
}

template <class Position, class Velocity>
void apply_to_all(ThreadPool& pool, int count, const VelocityMap& map, std::uint32_t flag,
                  const std::vector<Position>& position, std::vector<Velocity>& velocity) {
  for_each_index(pool, count, [&](int i) { apply(map, flag, position[i], velocity[i]); });
}

}  // namespace manymove::dpd
