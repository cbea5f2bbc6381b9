// SPDX-License-Identifier: BSD-3-Clause
// Swap moves of diameters on a GPU.
#pragma once

#include "../../runtime/device.cuh"
#include "../state.h"

namespace manymove::hard_particles {

// The diameters of particles: in the caller's unit, in integer units, and as labels.
struct SwappedDiameters {
  double *reference, *diameters;
  Label* labels;
};

// Makes the swap moves after a cycle, in its grid, with one kernel; cells are from this rank's
// first on, and after the last those of the next rank. sums: trials made and accepted.
void swap_diameters(const State& state, const SwapRules& rules, const Sphere* spheres,
                    const std::uint32_t* counts, const SwappedDiameters& of,
                    unsigned long long* sums, cudaStream_t stream);

// ---- the diameters of particles that go to other ranks with their cells ----

// Cells of local storage one after the other, each with `slots` slots.
struct StoredCells {
  const Sphere* spheres;
  const std::uint32_t* counts;
  double* diameters;  // [cells][slots], in the caller's unit
  int slots;
  MM_HD StoredCells from(std::size_t cell) const {
    const std::size_t slot = cell * static_cast<std::size_t>(slots);
    return {spheres + slot, counts + cell, diameters + slot, slots};
  }
};

// Writes the diameters of the particles in the first `number` cells next to their slots.
void pack_diameters(const StoredCells& cells, std::size_t number, const double* reference,
                    cudaStream_t stream);
// Adopts those that came from another rank, in units of this length.
void take_diameters(const StoredCells& cells, std::size_t number, double unit,
                    const SwappedDiameters& of, cudaStream_t stream);

}  // namespace manymove::hard_particles
