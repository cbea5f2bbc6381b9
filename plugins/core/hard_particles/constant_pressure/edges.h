// SPDX-License-Identifier: BSD-3-Clause
// Constant pressure with edges apart: trial changes of one edge at a time, or of several kinds, in
// which positions are rounded to a new lattice. Numbers of sections are those of
// docs/theory/constant_pressure.md. All decisions are made on the host from integers and IEEE
// operations, the same for every backend.
#pragma once

#include "../state.h"

namespace manymove::hard_particles {

// The largest steps of each kind of several.
std::array<double, 3> largest_box_deltas(const State& state);

// Chooses the unit of length, the first edges and the largest steps (section 7). Throws
// std::invalid_argument for bad parameters.
void choose_edges(State& state);

// Sets the box and the grid to the edges of a checkpoint. Throws std::invalid_argument if there are
// no such edges.
void adopt_edges(State& state, const Snapshot& data);

// Makes and counts the trial changes that are due after a cycle. `now` is the present snapshot, or
// this rank's part of it; its positions and origin are updated. Returns whether the box has
// changed. Collective if ranks divide the system, which then has to be divided again.
bool change_edges(State& state, Snapshot& now);

// ---- logarithms of the edges, with several kinds or in a Gibbs ensemble (section 8) ----

inline constexpr double kLogarithmQuantum = 0x1p-46;
// ln V in units.
double log_volume(const State& state);
// Sets the box and the numbers of cells to the logarithms; false if there is no such box. The rest
// of the grid, and the contact distances, follow with follow_box().
bool set_logarithms(State& state);
// Puts positions from a box with these extents into the present one, with random digits behind
// those of the lattice.
void round_places(const State& state, Snapshot& now, const std::array<std::int64_t, 3>& from,
                  int trial);

}  // namespace manymove::hard_particles
