// SPDX-License-Identifier: BSD-3-Clause
// The policy `Particles` on a GPU: kernels that leave its particles with a host program.
#pragma once

#include "host_particles.cuh"

namespace manymove::hard_particles {
namespace {

// A thread for each cell. Does nothing if `skip` points at something else than 0.
template <class Real>
__global__ void write_kernel(const __grid_constant__ Geometry g,
                             const __grid_constant__ HostWork work, const Sphere* spheres,
                             const std::uint32_t* counts, const unsigned int* skip) {
  if (skip && *skip) return;
  const std::int64_t at = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  Sum sum = 0;
  if (at < counted_cells<3>(g)) {
    int cell[3];
    cell_at(g, at, cell);
    for (std::uint32_t slot = 0; slot < counts[at]; ++slot)
      sum += write_host_particle<Real>(g, work.frame, cell, spheres[at * g.slots + slot],
                                       work.particles);
  }
  end_writing(work, sum);
}

// The particles of the cells from the `from`-th on, for hand_over_cells(). Rows count along the
// last axis.
struct ParticlesOfCells {
  const Geometry& g;
  int dimensions;
  std::int64_t from;
  OwnRows rows;
  const Sphere* spheres;
  const std::uint32_t* counts;

  __device__ void place(std::int64_t i, int cell[3]) const {
    cell_at(g, from + i, cell);
    if (dimensions == 3)
      cell[2] = rows.in_grid(cell[2]);
    else
      cell[1] = rows.in_grid(cell[1]);
  }
  __device__ Sphere first(std::int64_t i, int& particles) const {
    particles = static_cast<int>(counts[from + i]);
    return other(i, 0);
  }
  __device__ Sphere other(std::int64_t i, int slot) const {
    return spheres[(from + i) * g.slots + slot];
  }
};

template <class Real, Part kPart>
__global__ void __launch_bounds__(kHostThreads, 3)
    hand_over_kernel(const __grid_constant__ Geometry g, std::int64_t first, std::int64_t cells,
                     const OwnRows rows, const __grid_constant__ Frame frame,
                     const __grid_constant__ HandOverWork work, const Sphere* spheres,
                     const std::uint32_t* counts) {
  hand_over_cells<Real, kPart>(g, frame, work, cells,
                               ParticlesOfCells{g, frame.dimensions, first, rows, spheres, counts});
}

}  // namespace
}  // namespace manymove::hard_particles
