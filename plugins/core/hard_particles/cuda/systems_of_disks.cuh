// SPDX-License-Identifier: BSD-3-Clause
// The kernels of many systems of equal disks that share launches: what disks_kernels.cuh has for
// one system, with arguments from a table in the device's memory.
#pragma once

#include "disks_kernels.cuh"

namespace manymove::hard_particles::equal_disks {
namespace {

// One of several systems that share launches, for some cycles.
struct System {
  Geometry g;
  Doubled s;
  Position* cells[2];  // the present ones first
  std::int32_t* ids[2];
  MoveCounts* counts;
  int tiles, cycles;  // it takes part in the first cycles of a launcher's batch
  Law law;            // of histograms
  ContactBins contact;

  static constexpr bool swaps_after(std::uint64_t) { return false; }
};

// A cycle of all systems, with a row of blocks for each, in which those beyond its tiles have
// nothing to do. draws: [systems], of this cycle.
template <int K, int Threads, int BlocksPerMultiprocessor>
__global__ void __launch_bounds__(Threads, BlocksPerMultiprocessor)
    cycle_of_systems(const System* systems, const Draw* draws, int cycle) {
  const System& system = systems[blockIdx.y];
  if (static_cast<int>(blockIdx.x) >= system.tiles || cycle >= system.cycles) return;
  __shared__ Geometry g;
  __shared__ Doubled s;
  __shared__ Draw d;
  copy_to_block(g, system.g);
  copy_to_block(s, system.s);
  copy_to_block(d, draws[blockIdx.y]);
  const int now = cycle & 1;
  const LaunchArrays b{system.cells[now], system.ids[now], system.cells[1 - now],
                       system.ids[1 - now], system.counts};
  __syncthreads();
  make_cycle<K, 1, false>(g, s, d, b, HostWork{}, Comparison{});
}

// The histograms of all systems after a cycle. rows: [systems], null for those without a sample.
__global__ void histogram_of_systems(const System* systems, std::uint64_t* const* rows, int cycle) {
  const System& system = systems[blockIdx.y];
  std::uint64_t* const row = rows[blockIdx.y];
  const CellRange range{0, system.g.cells[0] * system.g.cells[1]};
  if (cycle >= system.cycles || !row || static_cast<int>(blockIdx.x * blockDim.x) >= range.end)
    return;
  __shared__ Geometry g;
  copy_to_block(g, system.g);
  __syncthreads();
  add_histogram(g, range, system.law, system.contact, {system.cells[(cycle + 1) & 1]}, row);
}

}  // namespace
}  // namespace manymove::hard_particles::equal_disks
