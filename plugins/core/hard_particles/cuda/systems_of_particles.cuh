// SPDX-License-Identifier: BSD-3-Clause
// The kernels of many systems of particles that share launches: what particles_kernels.cuh has for
// one system, with arguments from a table in the device's memory.
#pragma once

#include "histograms.cuh"
#include "particles_kernels.cuh"

namespace manymove::hard_particles {
namespace {

// A cycle of all systems, with a row of blocks for each, in which those beyond its tiles have
// nothing to do. draws: [systems], of this cycle.
template <int D, Contact C, VisitsOf<D, C> V, int Threads, int BlocksPerMultiprocessor>
__global__ void __launch_bounds__(Threads, BlocksPerMultiprocessor)
    cycle_of_systems(const System* systems, const Draw* draws, int cycle) {
  const System& system = systems[blockIdx.y];
  if (static_cast<int>(blockIdx.x) >= system.tiles || cycle >= system.cycles) return;
  __shared__ Geometry g;
  __shared__ Draw d;
  copy_to_block(g, system.g);
  copy_to_block(d, draws[blockIdx.y]);
  const int now = cycle & 1;
  const LaunchArrays b{system.spheres[now],
                       system.counts[now],
                       system.spheres[1 - now],
                       system.counts[1 - now],
                       system.moves,
                       system.scratch,
                       nullptr,
                       nullptr,
                       {}};
  const LaunchConfig config{system.capacity, V::kRoom, V::kMine, static_cast<int>(blockDim.x),
                            nullptr};
  __syncthreads();
  make_cycle<D, C, V, false>(g, system.law, d, b, config, VolumeChoice{});
}

// The histograms of all systems after a cycle. rows: [systems], null for those without a sample.
template <int D, Contact C>
__global__ void histogram_of_systems(const System* systems, std::uint64_t* const* rows, int cycle) {
  const System& system = systems[blockIdx.y];
  std::uint64_t* const row = rows[blockIdx.y];
  if (cycle >= system.cycles || !row ||
      std::int64_t{blockIdx.x} * blockDim.x >= counted_cells<D>(system.g))
    return;
  __shared__ Geometry g;
  copy_to_block(g, system.g);
  __syncthreads();
  const int next = (cycle + 1) & 1;
  add_histograms<D, C>(g, system.law, system.histograms, system.spheres[next], system.counts[next],
                       row);
}

}  // namespace
}  // namespace manymove::hard_particles
