// SPDX-License-Identifier: BSD-3-Clause
// Many-body DPD on a GPU: a kernel that finds local densities before the kernel of each step.
#pragma once

#include "step_kernels.cuh"

namespace manymove::dpd {

// In mixed precision densities are sums of multiples of this weight: like forces, they do not
// depend on the order of the pairs. A thousand neighbors in one place are within the range.
constexpr float kWeightsPerUnit = 0x1p22f;

// rho_i = sum_j w_rho(r_ij) with w_rho = 15 / (2 pi r_d^3) (1 - r / r_d)^2 (Warren 2003), where the
// factor before the square is multiplied at the end. `lanes` threads per particle, in the blocks of
// the step. As there, pairs that may be within the cutoff of densities are collected first.
template <Precision P, bool plain, int lanes, ParticleRange Who>
__global__ void __launch_bounds__(kThreads)
    density_kernel(const __grid_constant__ Step<P> s, const Who who, typename P::Real* density) {
  using Real = typename P::Real;
  using Math = MathOf<P>;
  constexpr int kHits = 20;
  __shared__ unsigned hit[kHits * kThreads];
  __shared__ unsigned units_of[kThreads];  // of the particles of the block, in mixed precision
  // As in the step: the whole block or none of it.
  const bool skipped = stale(s.status, s.number);
  if (Who::follows_a_step ? skipped : __syncthreads_or(skipped)) return;
  const int thread = static_cast<int>(threadIdx.x);
  const int first = who.first + static_cast<int>(blockIdx.x) * (kThreads / lanes);  // of the block
  const int i = first + thread / lanes;
  const bool here = i < s.count;
  if constexpr (kIntegers<P>) {
    units_of[thread] = 0;
    // Others add to it as soon as they have found a neighbor here.
    __syncthreads();
  }
  const auto apart_in_list = static_cast<std::size_t>(static_cast<unsigned>(s.lists.stride));
  const uint4* list = reinterpret_cast<const uint4*>(s.lists.entry) +
                      static_cast<std::size_t>(thread % lanes) * apart_in_list + i;
  const int number = here ? s.lists.number[i] : 0;
  const typename P::Position r = s.position[here ? i : 0];
  const ShortPosition about = s.short_position[here ? i : 0];

  Real sum = 0;  // stays 0 in mixed precision
  unsigned units = 0;
  int hits = 0;
  const auto compute = [&] {
    for (int k = 0; k < hits; ++k) {
      const unsigned entry = hit[k * kThreads + thread], j = plain ? entry : entry & kIndexBits;
      const Real with = with_neighbor<P, Math, plain>(s.forces, r, s.position[j], entry, sum);
      if constexpr (kIntegers<P>) {
        // In mixed precision `sum` is 0, so that this is the neighbor's w_d^2 alone.
        const unsigned more = __float2uint_rn(with * kWeightsPerUnit),
                       other = j - static_cast<unsigned>(first);
        units += more;
        if (other < static_cast<unsigned>(s.lists.tile)) atomicAdd(&units_of[other], more);
      } else {
        sum = with;
      }
    }
    hits = 0;
  };
  // The lanes of a particle take groups of four entries in turn.
  for (int left = number - kGroup * (thread % lanes); __any_sync(kWholeWarp, left > 0);
       left -= kGroup * lanes, list += lanes * apart_in_list) {
    if (left > 0) {
      const uint4 four = *list;
      const unsigned entry[kGroup] = {four.x, four.y, four.z, four.w};
      ShortPosition other[kGroup];
#pragma unroll
      for (int q = 0; q < kGroup; ++q)
        other[q] = s.short_position[plain ? entry[q] : entry[q] & kIndexBits];
#pragma unroll
      for (int q = 0; q < kGroup; ++q)
        if (maybe_within_cutoff<plain>(s.density_shorts, about, other[q]) && left > q)
          hit[hits++ * kThreads + thread] = entry[q];
    }
    if (__any_sync(kWholeWarp, hits > kHits - kGroup)) compute();
  }
  compute();

  if constexpr (kIntegers<P>) {
    atomicAdd(&units_of[thread / lanes], units);
    // All pairs within the tile have been added at both ends.
    __syncthreads();
    sum = static_cast<float>(units_of[thread / lanes]) / kWeightsPerUnit;
  } else {
    for (int d = lanes / 2; d > 0; d /= 2) sum += __shfl_xor_sync(kWholeWarp, sum, d);
  }
  if (here && thread % lanes == 0) density[i] = s.forces.many_body.density_scale * sum;
}

// The kernel before that of a step, in blocks of kThreads. Compiled like those of the step, which
// reads Step::density.
template <Precision P, ParticleRange Who>
using DensityKernel = void (*)(const Step<P>, const Who, typename P::Real*);
template <Precision P, ParticleRange Who>
DensityKernel<P, Who> density_kernel_of(bool plain, int lanes);

}  // namespace manymove::dpd
