// SPDX-License-Identifier: BSD-3-Clause
// The cells of a grid as a GPU stores them. A row of cells has the first slots of all its cells,
// then their second slots, and so on, so that a cycle reads and writes little more than the first
// disks. The first disk of a cell tells how many others follow it. Slots beyond those hold
// anything.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "equal_disks.h"

namespace manymove::hard_particles::equal_disks {

// The place of a cell's first slot; the others follow at distances of `columns`. A grid has at most
// 30000 x 30000 cells, so that 32 bits are enough.
MM_HD std::uint32_t first_slot(int columns, int column, int row) {
  return (static_cast<std::uint32_t>(row) * kSlots) * static_cast<std::uint32_t>(columns) +
         static_cast<std::uint32_t>(column);
}

// Coordinates are integers below 2^21 in magnitude, so that the last three bits of a float32 are
// zero. Two of those of x tell how many disks follow the first one of a cell.
inline constexpr std::uint32_t kOthers = kSlots - 1;
MM_HD Position with_others(Position first, int others) {
  return {as_float(bits_of(first.x) | static_cast<std::uint32_t>(others)), first.y};
}
MM_HD Position without_others(Position first) {
  return {as_float(bits_of(first.x) & ~kOthers), first.y};
}
// The disks of a cell with this first slot.
MM_HD int disks_of(Position first) {
  return first.x == kEmpty ? 0 : 1 + static_cast<int>(bits_of(first.x) & kOthers);
}

// What other multiprocessors have written.
MM_HD Position load_position(const Position* from) {
#if defined(__CUDA_ARCH__)
  const float2 p = __ldcg(reinterpret_cast<const float2*>(from));
  return {p.x, p.y};
#else
  return *from;
#endif
}

// The positions of a grid, for observables.
struct Planes {
  const Position* first;
};
MM_HD void load_cell(const Geometry& g, Planes cells, int column, int row, Position slot[kSlots]) {
  const Position* const at = cells.first + first_slot(g.cells[0], column, row);
  // One load tells whether there are others.
  const Position first = load_position(at);
  const int disks = disks_of(first);
  slot[0] = disks ? without_others(first) : first;
  MM_UNROLL
  for (int s = 1; s < kSlots; ++s)
    slot[s] = s < disks ? load_position(at + s * g.cells[0]) : Position{kEmpty, kEmpty};
}

// Calls pair(dx, dy) for each disk `slot` of a cell and every other disk in the cells (column + i,
// row + j) with |i|, |j| <= 2; half: each pair of disks once, not twice. Differences are exact.
template <bool Half, class Pair>
MM_HD void for_pairs(const Geometry& g, Planes cells, int column, int row, int slot, Pair&& pair) {
  Position own[kSlots];
  load_cell(g, cells, column, row, own);
  const Position p = own[slot];
  // Places are relative to the centers of their cells, which are 2 H apart.
  for (int j = Half ? 0 : -2; j <= 2; ++j) {
    for (int i = Half && j == 0 ? 0 : -2; i <= 2; ++i) {
      const int at[2] = {(column + i + 2 * g.cells[0]) % g.cells[0],
                         (row + j + 2 * g.cells[1]) % g.cells[1]};
      Position q[kSlots];
      load_cell(g, cells, at[0], at[1], q);
      MM_UNROLL
      for (int s = 0; s < kSlots; ++s) {
        if (q[s].x == kEmpty) continue;
        if (i == 0 && j == 0 && (Half ? s <= slot : s == slot)) continue;
        pair(q[s].x - p.x + 2.0f * g.half[0] * static_cast<float>(i),
             q[s].y - p.y + 2.0f * g.half[1] * static_cast<float>(j));
      }
    }
  }
}

// ---- on the host ----

// The place of the first slot of the cell with this index.
inline std::size_t place_in_planes(int columns, std::size_t cell) {
  const auto row = static_cast<std::size_t>(columns);
  return cell / row * row * kSlots + cell % row;
}

// Whole rows of cells on their way to a GPU and back.
inline void to_planes(int columns, const Cells& from, std::span<Position> cells,
                      std::span<std::int32_t> ids) {
  for (std::size_t cell = 0; cell < from.counts.size(); ++cell) {
    const std::size_t to = place_in_planes(columns, cell);
    const int disks = static_cast<int>(from.counts[cell]);
    cells[to] = {kEmpty, kEmpty};
    for (int s = disks - 1; s >= 0; --s) {
      const Sphere& disk = from.spheres[cell * kSlots + static_cast<std::size_t>(s)];
      const Position p{disk.x, disk.y};
      const std::size_t at = to + static_cast<std::size_t>(s) * static_cast<std::size_t>(columns);
      cells[at] = s ? p : with_others(p, disks - 1);
      ids[at] = static_cast<std::int32_t>(disk.id);
    }
  }
}
inline Cells from_planes(int columns, std::span<const Position> cells,
                         std::span<const std::int32_t> ids) {
  Cells to{std::vector<Sphere>(ids.size()), std::vector<std::uint32_t>(ids.size() / kSlots)};
  for (std::size_t cell = 0; cell < to.counts.size(); ++cell) {
    const std::size_t from = place_in_planes(columns, cell);
    const int disks = disks_of(cells[from]);
    to.counts[cell] = static_cast<std::uint32_t>(disks);
    for (int s = 0; s < disks; ++s) {
      const std::size_t at = from + static_cast<std::size_t>(s) * static_cast<std::size_t>(columns);
      const Position p = s ? cells[at] : without_others(cells[at]);
      to.spheres[cell * kSlots + static_cast<std::size_t>(s)] = {
          p.x, p.y, 0, static_cast<std::uint32_t>(ids[at])};
    }
  }
  return to;
}

}  // namespace manymove::hard_particles::equal_disks
