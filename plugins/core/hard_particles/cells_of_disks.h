// SPDX-License-Identifier: BSD-3-Clause
// Equal disks in the cells of a snapshot, whose slots keep their order, and what the engines of
// `EqualDisks` take from a state.
#pragma once

#include <span>

#include "equal_disks.h"
#include "state.h"

namespace manymove::hard_particles {

// Disks of cells into the slots of a snapshot, whose places they replace.
void to_disks(const State& state, const Cells& cells, Snapshot& data);
// Throws std::invalid_argument unless the snapshot has each disk of this system once, where it can
// be, and no two of them overlap.
void check_disks(const State& state, const Snapshot& data);
// A snapshot with places: the same, or, of equal disks, those of its cells with their indices.
Snapshot with_places(const State& state, Snapshot data);

namespace equal_disks {

// The grid in local storage: the whole, or that of a strip.
Geometry geometry_of(const State& state);
inline std::size_t row_slots(const State& state) { return state.row_cells() * kSlots; }

// After Strip::advance(): the draw and the tiles from a row of the strip's tiles on, in local
// storage.
inline Draw local_draw(const Strip& strip, Draw d) {
  d.shift_cells[1] = strip.local_shift();
  return d;
}
StripView view_of(const Strip& strip, const State& whole, int tile_row);

ContactBins contact_bins(const Geometry& g, const Sampling& sampling);
// Sums [rows][2] in order, over the number of disks.
std::array<double, 2> mean_of(std::span<const std::array<double, 2>> sums, std::size_t particles);

}  // namespace equal_disks
}  // namespace manymove::hard_particles
