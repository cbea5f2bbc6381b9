// SPDX-License-Identifier: BSD-3-Clause
// What kernels that hand over positions find, summed up.
#pragma once

#include "../../runtime/warp.cuh"
#include "../hand_over_passes.h"

namespace manymove::hard_particles {
namespace {

// Both functions add what the threads of a block have found. All threads of the block call them.
__device__ inline void add_to(Tally* tally, Arrivals mine) {
  mine.trace = warp_sum(mine.trace);
  mine.particles = warp_sum(mine.particles);
  mine.tags = warp_sum(mine.tags);
  __shared__ Arrivals of_warp[32];
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = mine;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (unsigned warp = 1; warp < blockDim.x / 32; ++warp) mine.add(of_warp[warp]);
  if (mine.particles == 0) return;
  atomicAdd(&tally->trace, mine.trace);
  atomicAdd(&tally->particles, mine.particles);
  atomicAdd(&tally->tags, mine.tags);
}
__device__ inline void add_to(Tally* tally, const Glance& mine) {
  add_to(tally, static_cast<const Arrivals&>(mine));
  const unsigned others = warp_reduce(mine.others, [](unsigned a, unsigned b) { return a | b; });
  if (threadIdx.x % 32 == 0 && others) atomicOr(&tally->others, Count{others});
  for (int a = 0; a < 3; ++a) {
    const double outside =
        warp_reduce(mine.outside[a], [](double a, double b) { return a > b ? a : b; });
    if (threadIdx.x % 32 == 0 && outside > 0)
      atomicMax(&tally->outside[a], Count{bits_of(outside)});
  }
}

}  // namespace
}  // namespace manymove::hard_particles
