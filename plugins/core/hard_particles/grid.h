// SPDX-License-Identifier: BSD-3-Clause
// The choice of the grid from the parameters and the number of particles of a state, by the rules
// of its policy.
#pragma once

#include <cmath>

#include "state.h"

namespace manymove::hard_particles {

inline constexpr double kWidestCell = Particles<3, Contact::additive>::kGrid.widest_cell;
inline constexpr int kMaxSlots = 1024;
inline constexpr std::size_t kMaxTypes = 64;

// The contact distances alone. Throws std::invalid_argument for bad sizes or a bad box.
void check_sizes(State& state);

// Sets everything but the particles. Throws std::invalid_argument for bad parameters.
void choose_grid(State& state);

// The integers n_a, from 1 to most[a] along each axis, that are nearest to wanted(n_kept, a), with
// n_kept above half of most[kept]: in these units edges have the ratios of a box. error: the
// largest relative one, 1 if there are no such integers.
std::array<std::int64_t, 3> nearest_ratios(int dimensions, int kept, const std::int64_t* most,
                                           double& error, const auto& wanted) {
  std::array<std::int64_t, 3> n{}, best{};
  error = 1;
  for (std::int64_t m = most[kept]; m > most[kept] / 2 && error > 1e-15; --m) {
    double largest = 0;
    bool fits = true;
    for (int a = 0; a < dimensions; ++a) {
      const double exact = wanted(m, a);
      n[a] = static_cast<std::int64_t>(std::nearbyint(exact));
      fits = fits && n[a] >= 1 && n[a] <= most[a];
      largest = std::max(largest, std::abs(static_cast<double>(n[a]) - exact) / exact);
    }
    if (!fits || largest >= error) continue;
    error = largest;
    best = n;
  }
  return best;
}

// At constant pressure: as many cells along each axis, with the edges of the box by its extent and
// unit.
void set_cells(State& state, const int* cells);
double box_volume(const State& state);

// Changes the box, the grid and the contact distances of types to a volume at constant pressure, by
// its coordinate.
void set_volume(State& state, double coordinate);

// The slots, tiles, moves and contact distances of a box that has just been set.
void follow_box(State& state);

// The diameters of particles in integer units, on the host.
void fill_diameters(State& state);

}  // namespace manymove::hard_particles
