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

}  // namespace manymove::hard_particles
