// SPDX-License-Identifier: BSD-3-Clause
// Loops over the particles of a rank in the threads of a pool.
#pragma once

#include <algorithm>
#include <mutex>
#include <vector>

#include "../../runtime/parallel_for.h"
#include "../velocity_changes.h"
#include "step_arguments.h"

namespace manymove::dpd {

// The sum or maximum of what part_of(first, last) returns for parts of the particles; add(all,
// part) adds one of them, in any order.
template <class T, class PartOf, class Add>
T over_all(ThreadPool& pool, int count, const PartOf& part_of, const Add& add) {
  std::mutex lock;
  T all{};
  for_each_range(pool, count, [&](int first, int last) {
    const T part = part_of(first, last);
    const std::lock_guard<std::mutex> guard(lock);
    add(all, part);
  });
  return all;
}

// Value order[i] becomes the i-th. spare: memory for it.
template <class T>
void reorder(ThreadPool& pool, std::vector<T>& values, std::vector<T>& spare,
             const std::vector<std::uint32_t>& order) {
  spare.resize(values.size());
  for_each_index(pool, static_cast<int>(order.size()), [&](int i) { spare[i] = values[order[i]]; });
  values.swap(spare);
}

void set_components(auto& to, const double from[3]) {
  using Real = std::remove_cvref_t<decltype(to.x)>;
  to.x = static_cast<Real>(from[0]);
  to.y = static_cast<Real>(from[1]);
  to.z = static_cast<Real>(from[2]);
}

CoarsePosition coarse_position_of(const auto& p) {
  return {high_word(p.x), high_word(p.y), high_word(p.z), 0};
}

template <class Position, class Velocity>
Moments moments_of(ThreadPool& pool, int count, std::uint32_t flag,
                   const std::vector<double>& units, const std::vector<Position>& position,
                   const std::vector<Velocity>& velocity) {
  return over_all<Moments>(
      pool, count,
      [&](int first, int last) {
        Moments part;
        for (int i = first; i < last; ++i)
          add_moments(part, flag, units.data(), position[i], velocity[i]);
        return part;
      },
      [](Moments& all, const Moments& part) {
        for (int k = 0; k < 2 * Moments::kSums; ++k) all.word[k] += part.word[k];
      });
}

// The largest tag of the first `count` particles that are outside the box where it is not periodic.
template <class Position, class Velocity>
std::uint32_t largest_outside(ThreadPool& pool, std::uint32_t open, int count,
                              const std::vector<Position>& position,
                              const std::vector<Velocity>& velocity) {
  return over_all<std::uint32_t>(
      pool, open ? count : 0,
      [&](int first, int last) {
        std::uint32_t largest = 0;
        for (int i = first; i < last; ++i) {
          if (outside(open, position[i])) largest = std::max(largest, velocity[i].tag);
        }
        return largest;
      },
      [](std::uint32_t& all, std::uint32_t part) { all = std::max(all, part); });
}

// key: of each particle in the order of cells, first `count` of the rank, then ghosts. Finds the
// cell of each and the ranges of each cell, of the rank's particles and of ghosts.
inline void find_cells(ThreadPool& pool, const Cells& cells, int count,
                       const std::vector<std::uint32_t>& key, std::vector<int>& cell,
                       std::vector<CellRange> (&range)[2]) {
  const int all = static_cast<int>(key.size());
  cell.resize(key.size());
  for_each_index(pool, all, [&](int i) { cell[i] = cell_of_key(cells, key[i]); });
  for (auto& each : range)
    each.assign(static_cast<std::size_t>(cells.here[0]) * cells.here[1] * cells.here[2], {0, 0});
  for_each_index(pool, all, [&](int i) {
    CellRange& of_cell = range[i < count ? 0 : 1][cell[i]];
    if (i == 0 || i == count || cell[i] != cell[i - 1]) of_cell.first = i;
    if (i == count - 1 || i == all - 1 || cell[i] != cell[i + 1]) of_cell.last = i + 1;
  });
}

}  // namespace manymove::dpd
