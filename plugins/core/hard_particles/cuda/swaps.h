// SPDX-License-Identifier: BSD-3-Clause
// Swap moves of diameters on a GPU.
#pragma once

#include "../../runtime/device.cuh"
#include "../state.h"
#include "launch_config.h"

namespace manymove::hard_particles {

// Makes the swap moves after a cycle, in its grid, with one kernel; cells are from this rank's
// first on, and after the last those of the next rank. sums: trials made and accepted.
void swap_diameters(const State& state, const SwapRules& rules, const Sphere* spheres,
                    const std::uint32_t* counts, const LawTables& of, unsigned long long* sums,
                    cudaStream_t stream);

// ---- many systems that share launches ----

// The kernel of the swap moves after a cycle, with kSwapThreads threads in a block for each tile;
// the particles of a tile in its shared memory, if all that are expected have room there; and the
// bytes that they take.
inline constexpr unsigned kSwapThreads = 512;
void (*swaps_of_systems(int dimensions))(const System*, const Draw*, int cycle);
int swap_capacity(const State& state);
std::size_t swap_bytes(const State& state, int capacity);

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

// Writes the diameters of the particles in the first `number` cells next to their slots, or with
// `take` adopts those that came from another rank, in units of this length.
void exchange_diameters(bool take, const StoredCells& cells, std::size_t number, double unit,
                        const LawTables& of, cudaStream_t stream);

}  // namespace manymove::hard_particles
