// SPDX-License-Identifier: BSD-3-Clause
// External fields on the host: checks, and what engines have of them.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "fields.h"
#include "state.h"

namespace manymove::hard_particles {

// Refuses fields that the engine does not have, when the grid is known, and wraps the points of
// springs into the box.
void settle_fields(State& state);
// Refuses particles that are where a field forbids them; data: with the places of all.
void check_allowed(const State& state, const Snapshot& data);

// The hard wall that a particle is deepest in: the length that is missing to the shortest distance,
// negative outside of all walls, and the direction out of the wall.
struct WallContact {
  double depth = -std::numeric_limits<double>::infinity();
  double out[3] = {0, 0, 0};
};
WallContact wall_contact(const State& state, const FieldView& view, std::size_t i,
                         const double* coordinates);
// The number of particles in hard walls, and the deepest one, with its depth in the largest contact
// distance.
struct InWalls {
  std::size_t count = 0, deepest = 0;
  double depth = 0;
};
InWalls in_walls(const State& state, const Snapshot& data);
// The fields with the grid where the state has its origin; arrays are those of the parameters.
FieldView field_view(const State& state);
// The energies of all particles [N] at coordinates [N][D]; infinite where one may not be.
std::vector<double> energies_at(const State& state, const double* coordinates);

}  // namespace manymove::hard_particles
