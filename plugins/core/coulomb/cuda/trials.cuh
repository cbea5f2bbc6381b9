// SPDX-License-Identifier: BSD-3-Clause
// What all schedules do on a GPU before a sweep: trials are proposed, those that are rejected early
// are found, and the ions are put in order, candidates first.
#pragma once

#include "chain_arrays.cuh"
#include "pairs.cuh"

namespace manymove::coulomb {
namespace {

__global__ void propose_kernel(Rules r, ChainArrays a, std::uint64_t sweep) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= a.ions) return;
  const Site s = a.site[i];
  const Trial t = propose(r, static_cast<std::uint32_t>(i), sweep, s);
  a.trial[i] = {t.x, t.y, t.z, 0};
  a.most[i] = t.most;
  a.decision[i] = t.inside ? candidate : outside;
  // Ion i becomes the head of its cell's linked list; the order within a list has no effect.
  a.next[i] = atomicExch(&a.head[cell_of(r, s)], i);
}

// stage `blocked`: by ions that are tried later or stay inside; `blocked_by_blocked`: by ions whose
// trials were rejected before. Other threads' new decisions count for neither.
template <EarlyDecision Stage>
__global__ void reject_kernel(Rules r, ChainArrays a) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= a.ions) return;
  bool rejected = a.decision[i] != candidate;
  if (!rejected) {
    rejected = overlaps(
        r, a.lists(), [&](int j) { return a.site[j]; }, a.radius, i, site_of(a.trial[i], 0),
        [&](int j) {
          const auto decision = *static_cast<volatile std::uint8_t*>(a.decision + j);
          return Stage == blocked ? j > i || decision == outside : decision == blocked;
        });
    if (rejected) a.decision[i] = Stage;
  }
  if (Stage == blocked_by_blocked) a.candidate[i] = !rejected;
}

template <int S>
__device__ unsigned groups_of(unsigned count) {
  return (count + S - 1) / S;
}

// The ions in the order of a sweep, for groups of S trials.
template <int S>
__global__ void order_kernel(ChainArrays a) {
  const unsigned place = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned count = *a.count, others = groups_of<S>(count) * S;
  if (place >= static_cast<unsigned>(a.ions) + 2 * S) return;
  int ion = -1;
  if (place < count)
    ion = a.order[place];
  else if (place >= others && place - (others - count) < static_cast<unsigned>(a.ions))
    ion = a.order[place - (others - count)];
  a.ion[place] = ion;
  a.partner[place] = ion < 0 ? hole() : a.site[ion];
  if (place == 0) a.counts->evaluated = count;
}

__device__ bool exact_overlap(const Rules& r, const double* radius, const Site& trial, int i,
                              const Site& other, int j) {
  return i >= 0 && j >= 0 && too_close(squared_distance(r, trial, other), radius[i], radius[j]);
}

}  // namespace
}  // namespace manymove::coulomb
