// SPDX-License-Identifier: BSD-3-Clause
// Loops over the particles of a rank in the threads of a pool.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <mutex>
#include <vector>

#include "../../runtime/parallel_for.h"
#include "../profiles.h"
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

// The memory of values as 32-bit words.
template <class T>
std::uint32_t* words(std::vector<T>& values) {
  return reinterpret_cast<std::uint32_t*>(values.data());
}

template <class Position>
CoarsePosition coarse_position_of(const Position& p) {
  return {high_word(p.x), high_word(p.y), high_word(p.z), 0};
}

// Gives values the order of these indices. spare: memory.
template <class T>
void reorder(ThreadPool& pool, std::vector<T>& values, std::vector<T>& spare,
             const std::vector<std::uint32_t>& order) {
  spare.resize(values.size());
  for_each_index(pool, static_cast<int>(order.size()), [&](int i) { spare[i] = values[order[i]]; });
  values.swap(spare);
}

template <class Position, class Velocity>
Moments moments_of(ThreadPool& pool, int count, const Addends& addends,
                   const std::vector<double>& units, const std::vector<Position>& position,
                   const std::vector<Velocity>& velocity) {
  return over_all<Moments>(
      pool, count,
      [&](int first, int last) {
        Moments part;
        for (int i = first; i < last; ++i)
          addends.add(part, units.data(), position[i], velocity[i]);
        return part;
      },
      [](Moments& all, const Moments& part) {
        for (int k = 0; k < 2 * Moments::kSums; ++k) all.word[k] += part.word[k];
      });
}
template <class Position, class Velocity>
double largest_square(ThreadPool& pool, int count, const std::vector<double>& units,
                      const std::vector<Position>& position,
                      const std::vector<Velocity>& velocity) {
  // Positive numbers have the order of their bits, and what is not a number is the largest.
  return std::bit_cast<double>(over_all<std::uint64_t>(
      pool, count,
      [&](int first, int last) {
        std::uint64_t largest = 0;
        for (int i = first; i < last; ++i) {
          const double square = std::fabs(square_of(units.data(), position[i], velocity[i]));
          largest = std::max(largest, std::bit_cast<std::uint64_t>(square));
        }
        return largest;
      },
      [](std::uint64_t& all, std::uint64_t part) { all = std::max(all, part); }));
}

// As EngineBase::own_profile(). The sums of threads in `parts` keep their memory between calls.
template <Precision P>
const ProfileWords& profile_of(ThreadPool& pool, const Profile& profile, const double* units,
                               const ProfiledParticles<P>& all, std::vector<ProfileWords>& parts) {
  parts.resize(static_cast<std::size_t>(pool.size()));
  for_each_item(pool, pool.size(), [&](int k, int) {
    auto& mine = parts[k];
    mine.assign(units ? 2 * profile.sums() : static_cast<std::size_t>(profile.columns), 0);
    const auto bound = [&](std::int64_t n) {
      return static_cast<int>(all.count * n / pool.size());
    };
    for (int i = bound(k); i < bound(k + 1); ++i)
      visit_profile(profile, all, i, [&](std::size_t word, int column, double value) {
        take_value(
            units, word, column, value,
            [&](int c, std::int64_t size) { mine[c] = std::max(mine[c], size); },
            [&](std::size_t at, std::int64_t part) { mine[at] += part; });
      });
  });
  for (std::size_t k = 1; k < parts.size(); ++k)
    for (std::size_t at = 0; at < parts[0].size(); ++at)
      parts[0][at] = units ? parts[0][at] + parts[k][at] : std::max(parts[0][at], parts[k][at]);
  return parts[0];
}

// Lists the neighbors of a chunk; `list` grows if they need it. Returns the number of entries.
template <Precision P>
std::int64_t list_chunk(const StepKernels<P>& kernels, const StepArguments<P>& arguments,
                        const Chunk& chunk, const Candidates& candidates,
                        std::vector<std::uint32_t>& list) {
  for (;;) {
    const auto room = static_cast<std::int64_t>(list.size()) - kReadAhead;
    const std::int64_t wanted =
        kernels.list(arguments, chunk.first, chunk.last, candidates, list.data(), room);
    if (wanted <= room) {
      // Steps read beyond the last entry; index 0 there is that of a particle.
      std::fill_n(list.begin() + wanted, kReadAhead, 0u);
      return wanted;
    }
    // A quarter more at least: the chunk is listed again, which should be rare.
    list.resize(static_cast<std::size_t>(std::max(wanted, 5 * room / 4) + 16 * kChunk));
  }
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

// The candidates that a particle has at most: 27 cells as full as the fullest, of own particles and
// of ghosts.
inline std::int64_t most_candidates(const std::vector<CellRange> (&range)[2], std::size_t all) {
  std::int64_t most = 0;
  for (const auto& each : range) {
    int fullest = 0;
    for (const CellRange& r : each) fullest = std::max(fullest, r.last - r.first);
    most += 27 * std::int64_t{fullest};
  }
  return std::min(most, static_cast<std::int64_t>(all));
}

}  // namespace manymove::dpd
