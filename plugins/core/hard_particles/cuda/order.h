// SPDX-License-Identifier: BSD-3-Clause
// Which tile each block of a launch takes, if all blocks are on the GPU at once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "../particles.h"

namespace manymove::hard_particles {

// Tiles differ by a cell along each axis, and the time of a launch is that of the busiest
// multiprocessor. On an empty GPU block b is on multiprocessor b % `multiprocessors`, so that some
// of them have one block more than others: tiles, those with most active cells first, go to the
// multiprocessor with the least work, as far as it has room. Empty if all tiles are alike.
template <int D>
std::vector<std::uint16_t> balanced_order(const Geometry& g, int tiles, int multiprocessors) {
  std::vector<int> active(static_cast<std::size_t>(tiles), 1);
  for (int t = 0; t < tiles; ++t) {
    const TileBounds bounds = tile_bounds<D>(g, t);
    for (int a = 0; a < D; ++a) active[static_cast<std::size_t>(t)] *= bounds.size[a] - 1;
  }
  const auto [least, most] = std::minmax_element(active.begin(), active.end());
  if (*least == *most) return {};
  std::vector<int> by_work(active.size());
  std::iota(by_work.begin(), by_work.end(), 0);
  std::stable_sort(by_work.begin(), by_work.end(), [&](int a, int b) {
    return active[static_cast<std::size_t>(a)] > active[static_cast<std::size_t>(b)];
  });
  struct Multiprocessor {
    int first, blocks, taken, work;
  };
  std::vector<Multiprocessor> all;
  for (int first = 0; first < std::min(tiles, multiprocessors); ++first) {
    const int blocks = (tiles - first + multiprocessors - 1) / multiprocessors;
    all.push_back({first, blocks, 0, blocks * *least});  // its tiles have at least this much
  }
  std::vector<std::uint16_t> order(active.size());
  for (const int t : by_work) {
    Multiprocessor* best = nullptr;
    for (Multiprocessor& m : all)
      if (m.taken < m.blocks && (!best || m.work < best->work)) best = &m;
    order[static_cast<std::size_t>(best->first + best->taken++ * multiprocessors)] =
        static_cast<std::uint16_t>(t);
    best->work += active[static_cast<std::size_t>(t)] - *least;
  }
  return order;
}

}  // namespace manymove::hard_particles
