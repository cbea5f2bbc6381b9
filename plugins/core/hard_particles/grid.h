// SPDX-License-Identifier: BSD-3-Clause
// The choice of the grid from the parameters and the number of particles of a state.
#pragma once

#include "state.h"

namespace manymove::hard_particles::particles {

inline constexpr double kWidestCell = 4.0 / 3;  // in largest contact distances
inline constexpr int kMaxSlots = 1024;
inline constexpr std::size_t kMaxTypes = 64;

// Sets everything but the particles. Throws std::invalid_argument for bad parameters.
void choose_grid(State& state);

// Changes the box, the grid and the contact distances of types to a volume at constant pressure, by
// its coordinate.
void set_volume(State& state, double coordinate);

// The slots, tiles, moves and contact distances of a box that has just been set.
void follow_box(State& state);

// The diameters of particles in integer units, on the host.
void fill_diameters(State& state);

}  // namespace manymove::hard_particles::particles
