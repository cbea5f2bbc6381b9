// SPDX-License-Identifier: BSD-3-Clause
// The diameters of particles that go to other ranks with their cells, where swap moves change them.
#pragma once

#include "../../runtime/device.cuh"
#include "swaps.h"

namespace manymove::hard_particles {

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
