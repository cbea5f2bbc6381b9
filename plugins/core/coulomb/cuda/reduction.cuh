// SPDX-License-Identifier: BSD-3-Clause
// The schedule "reduction" (section 4): one launch per trial, whose pair terms are summed over the
// threads; the last block decides.
#pragma once

#include "trials.cuh"

namespace manymove::coulomb {
namespace {

struct Reduction {
  unsigned long long change;
  unsigned overlap, blocks;
};

// Threads of a block: Ewald's potential needs more registers than 1,024 threads leave it.
constexpr int reduction_threads(Space space) { return space == Space::ewald ? 256 : 1024; }

template <bool Double, Space B>
__global__ void __launch_bounds__(reduction_threads(B))
    reduction_kernel(const __grid_constant__ Rules r, const __grid_constant__ ChainArrays a,
                     Reduction* whole, int i) {
  // All blocks return here together, so that the counter of blocks stays 0.
  if (a.decision[i] == outside) return;
  const Site from = a.site[i], to = site_of(a.trial[i], from.charge);
  const Pairs<Double, B> pairs(r, rest_for<Double>(r), from, to);
  std::int64_t change = 0;
  bool hit = false;
  for (int j = blockIdx.x * blockDim.x + threadIdx.x; j < a.ions; j += gridDim.x * blockDim.x) {
    if (j == i) continue;
    const Site other = a.site[j];
    const Partner<Double> g = as_partner<Double>(other);
    const auto now = pairs.to(g);
    change = wrapping_sum(change, pairs.change(g, now));  // equation 2
    if (static_cast<float>(now.squared) < r.surely_free)
      hit = hit || exact_overlap(r, a.radius, to, i, other, j);
  }
  // Integer sums: warps and blocks may add theirs in any order.
  change = warp_sum_wrapping(change);
  hit = __any_sync(kWholeWarp, hit);
  if (threadIdx.x % 32 == 0) {
    atomicAdd(&whole->change, static_cast<unsigned long long>(change));
    if (hit) atomicOr(&whole->overlap, 1u);
    __threadfence();
  }
  // All warps of the block have added their sums before it counts itself as done.
  __syncthreads();
  if (threadIdx.x != 0) return;
  // The block that comes last sees what all others have added, because each has fenced its sum.
  if (atomicAdd(&whole->blocks, 1u) + 1 < gridDim.x) return;
  __threadfence();  // the last block decides
  // Taken and set to 0 for the next trial, whose launch comes after this one.
  auto sum = static_cast<std::int64_t>(atomicExch(&whole->change, 0ull));
  const unsigned overlap = atomicExch(&whole->overlap, 0u);
  whole->blocks = 0;
  ++a.counts->evaluated;
  [[maybe_unused]] Dipole gain{};
  if constexpr (B == Space::ewald)
    if (r.vacuum != 0) {
      gain = dipole_gain(r, from, to, a.image + 3 * static_cast<std::size_t>(i));
      sum = wrapping_sum(sum, dipole_term(r, from.charge, *a.dipole, gain));
    }
  if (overlap || !accepts(sum, a.most[i], from.charge)) return;
  if constexpr (B == Space::ewald)
    if (r.vacuum != 0) {
      *a.dipole = *a.dipole + gain;
      follow(r, from, to, a.image + 3 * static_cast<std::size_t>(i));
    }
  a.site[i] = to;
  a.counts->add_accepted(nearest_integer(from.charge * static_cast<double>(sum)));
}

}  // namespace
}  // namespace manymove::coulomb
