// SPDX-License-Identifier: BSD-3-Clause
// The memory of dilute systems, whose cells are nearly all empty.
#pragma once

#include <cmath>
#include <cstddef>

#include "../runtime/text.h"

namespace manymove::hard_particles {

// Cells are about as wide as the largest contact distance, because a cell has room for all
// particles that fit into it. Their memory is therefore proportional to the volume of the box.
// Refuses a box that needs much memory for few particles; zero if their number is not known.
inline void check_dilution(double cells, double bytes_per_cell, std::size_t particles) {
  constexpr double kAnySystem = 1e9;   // bytes
  constexpr double kMostCells = 1000;  // for each particle, beyond these bytes
  const double bytes = cells * bytes_per_cell, most = kMostCells * static_cast<double>(particles);
  if (particles == 0 || bytes <= kAnySystem || cells <= most) return;
  refuse("the box is too dilute for ", particles,
         particles == 1 ? " particle: its " : " particles: its ", cells, " cells need ",
         std::round(bytes / 1e8) / 10, " GB of memory; more than ", kAnySystem / 1e9,
         " GB needs at least one particle for ", kMostCells,
         " cells: use a smaller box or more particles");
}

}  // namespace manymove::hard_particles
