// SPDX-License-Identifier: BSD-3-Clause
// Equal disks in the cells of a snapshot, whose slots keep their order, and what the engines of
// `EqualDisks` take from a state.
#pragma once

#include "equal_disks.h"
#include "state.h"

namespace manymove::hard_particles {

// A snapshot with the disks of all cells.
Snapshot disks_of_cells(const State& state, const Cells& cells);
// Throws std::invalid_argument unless the snapshot has each disk of this system once, where it can
// be.
Cells cells_of_disks(const State& state, const Snapshot& data);

namespace equal_disks {

// The grid in local storage: the whole, or that of a strip.
Geometry geometry_of(const State& state);

}  // namespace equal_disks
}  // namespace manymove::hard_particles
