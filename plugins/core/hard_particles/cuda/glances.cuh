// SPDX-License-Identifier: BSD-3-Clause
// What kernels that hand over positions find, summed up.
#pragma once

#include "../../runtime/warp.cuh"
#include "../hand_over_passes.h"

namespace manymove::hard_particles {
namespace {

// Adds the glances of a block's threads, which all call this.
__device__ inline void add_glances(Glance mine, Tally* tally) {
  mine.trace = warp_sum(mine.trace);
  mine.particles = warp_sum(mine.particles);
  for (double& outside : mine.outside)
    outside = warp_reduce(outside, [](double a, double b) { return a > b ? a : b; });
  __shared__ Glance of_warp[32];
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = mine;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (unsigned warp = 1; warp < blockDim.x / 32; ++warp) mine.add(of_warp[warp]);
  if (mine.particles == 0) return;
  atomicAdd(&tally->trace, mine.trace);
  atomicAdd(&tally->particles, mine.particles);
  for (int a = 0; a < 3; ++a)
    if (mine.outside[a] > 0) atomicMax(&tally->outside[a], Count{bits_of(mine.outside[a])});
}

}  // namespace
}  // namespace manymove::hard_particles
