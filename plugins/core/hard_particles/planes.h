// SPDX-License-Identifier: BSD-3-Clause
// The cells of a grid as a GPU stores them. A row of cells has the first slots of all its cells,
// then their second slots, and so on, so that a cycle reads and writes little more than the first
// disks. The first disk of a cell tells how many others follow it. Slots beyond those hold
// anything.
#pragma once

#include "engine.h"
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
  const Position first = load_position(at);
  const int disks = disks_of(first);
  slot[0] = disks ? without_others(first) : first;
  MM_UNROLL
  for (int s = 1; s < kSlots; ++s)
    slot[s] = s < disks ? load_position(at + s * g.cells[0]) : Position{kEmpty, kEmpty};
}

// ---- on the host ----

// Whole rows of cells on their way to a GPU and back. Snapshot's arrays are those of engine.h.
inline void to_planes(int columns, const Snapshot& from, Position* cells, std::int32_t* ids) {
  const auto* const slot = reinterpret_cast<const Position*>(from.cells.data());
  const auto apart = static_cast<std::size_t>(columns), row = apart * kSlots;
  for (std::size_t at = 0; at < from.ids.size(); at += kSlots) {
    const std::size_t to = at / row * row + at % row / kSlots;
    int others = 0;
    for (int s = 1; s < kSlots; ++s) others += from.ids[at + s] >= 0;
    for (std::size_t s = 0; s < kSlots; ++s) {
      cells[to + s * apart] = slot[at + s];
      ids[to + s * apart] = from.ids[at + s];
    }
    cells[to] = with_others(slot[at], others);
  }
}
// The arrays of `to` have their sizes.
inline void from_planes(int columns, const Position* cells, const std::int32_t* ids, Snapshot& to) {
  auto* const slot = reinterpret_cast<Position*>(to.cells.data());
  const auto apart = static_cast<std::size_t>(columns), row = apart * kSlots;
  for (std::size_t at = 0; at < to.ids.size(); at += kSlots) {
    const std::size_t from = at / row * row + at % row / kSlots;
    const auto disks = static_cast<std::size_t>(disks_of(cells[from]));
    for (std::size_t s = 0; s < kSlots; ++s) {
      slot[at + s] = s < disks ? cells[from + s * apart] : Position{kEmpty, kEmpty};
      to.ids[at + s] = s < disks ? ids[from + s * apart] : -1;
    }
    if (disks) slot[at] = without_others(cells[from]);
  }
}

}  // namespace manymove::hard_particles::equal_disks
