// SPDX-License-Identifier: BSD-3-Clause
// The kernels that find the partners of bonds where one rank has all particles.
#pragma once

#include "list_kernels.cuh"

namespace manymove::dpd {

// One thread per particle: where its bonds are.
static __global__ void bond_range_kernel(int count, const unsigned* origin, const int* first,
                                         int2* range) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) range[i] = {first[origin[i]], first[origin[i] + 1]};
}
// One thread per end of a bond: where its partner is.
static __global__ void bond_index_kernel(int count, const unsigned* partner, const unsigned* where,
                                         unsigned* index) {
  const int k = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (k < count) index[k] = where[partner[k]];
}

}  // namespace manymove::dpd
