// SPDX-License-Identifier: BSD-3-Clause
// The histograms of pair distances of a sample.
#pragma once

#include "launch_config.h"

namespace manymove::hard_particles {
namespace {

// One thread per cell.
template <int D, Contact C>
__device__ __forceinline__ void add_histograms(const Geometry& g, const Law& law,
                                               const Histograms& h, const Sphere* spheres,
                                               const std::uint32_t* counts, std::uint64_t* row) {
  extern __shared__ std::uint32_t mine[];
  const int size = h.number * h.bins.bins;
  const auto add = [&](int place, std::uint32_t pairs) {
    atomicAdd(reinterpret_cast<unsigned long long*>(row + place), pairs);
  };
  const auto count = [&](int place) {
    if (h.in_shared)
      atomicAdd(mine + place, 1u);
    else
      add(place, 1);
  };
  if (h.in_shared)
    for (int i = threadIdx.x; i < size; i += blockDim.x) mine[i] = 0;
  __syncthreads();
  const std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (index < counted_cells<D>(g)) {
    int cell[3];
    cell_at(g, index, cell);
    const auto n = static_cast<int>(counts[index]);
    for (int slot = 0; slot < n; ++slot)
      for_pairs<D>(g, spheres, counts, h.bins.range, cell, slot,
                   [&](std::uint32_t i, std::uint32_t j, float dx, float dy, float dz) {
                     const int bin = contact_bin<C>(law, h.bins, i, j, dx, dy, dz);
                     if (bin >= 0) count(bin);
                     if constexpr (C == Contact::table) {
                       const float d[3] = {dx, dy, dz};
                       step_bins(h.steps, law, h.bins, i, j, d, count);
                     }
                   });
  }
  // The block's histograms are complete.
  __syncthreads();
  if (h.in_shared)
    for (int i = threadIdx.x; i < size; i += blockDim.x)
      if (mine[i]) add(i, mine[i]);
}

template <int D, Contact C>
__global__ void histogram_kernel(const Geometry g, const Law law, const Histograms h,
                                 const Sphere* spheres, const std::uint32_t* counts,
                                 std::uint64_t* row) {
  add_histograms<D, C>(g, law, h, spheres, counts, row);
}

}  // namespace
}  // namespace manymove::hard_particles
