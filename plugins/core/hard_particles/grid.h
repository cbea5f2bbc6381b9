// SPDX-License-Identifier: BSD-3-Clause
// The choice of the grid from the parameters and the number of particles of a state, by the rules
// of its policy.
#pragma once

#include "state.h"

namespace manymove::hard_particles {

inline constexpr double kWidestCell = Particles<3, Contact::additive>::kGrid.widest_cell;
inline constexpr int kMaxSlots = 1024;
inline constexpr std::size_t kMaxTypes = 64;

// The contact distances alone. Throws std::invalid_argument for bad sizes or a bad box.
void check_sizes(State& state);

// Sets everything but the particles. Throws std::invalid_argument for bad parameters.
void choose_grid(State& state);

// Changes the box, the grid and the contact distances of types to a volume at constant pressure, by
// its coordinate.
void set_volume(State& state, double coordinate);

// The slots, tiles, moves and contact distances of a box that has just been set.
void follow_box(State& state);

// The diameters of particles in integer units, on the host.
void fill_diameters(State& state);

}  // namespace manymove::hard_particles
