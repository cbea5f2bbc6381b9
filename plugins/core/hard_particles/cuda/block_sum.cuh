// SPDX-License-Identifier: BSD-3-Clause
// Sums over the threads of a block and over those of a kernel.
#pragma once

namespace manymove::hard_particles {
namespace {

// The sum over the threads of a block; only the first thread gets it.
__device__ unsigned long long sum_of_block(unsigned long long mine) {
  __shared__ unsigned long long part[32];
  for (int lane = 16; lane > 0; lane /= 2) mine += __shfl_down_sync(~0u, mine, lane);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = mine;
  __syncthreads();
  if (threadIdx.x == 0)
    for (unsigned warp = 1; warp < blockDim.x / 32; ++warp) mine += part[warp];
  return mine;
}

// A sum over all threads of a kernel, for which one block after the other takes a number.
struct Trace {
  unsigned long long sum, written;
  unsigned int blocks, differs;
};

// True in one thread, that which ends the sum; `total` is valid there.
__device__ bool ends_sum(unsigned long long mine, Trace* trace, unsigned long long& total) {
  mine = sum_of_block(mine);
  if (threadIdx.x != 0) return false;
  atomicAdd(&trace->sum, mine);
  __threadfence();
  if (atomicAdd(&trace->blocks, 1u) != gridDim.x - 1) return false;
  total = atomicExch(&trace->sum, 0ull);
  trace->blocks = 0;
  return true;
}

}  // namespace
}  // namespace manymove::hard_particles
