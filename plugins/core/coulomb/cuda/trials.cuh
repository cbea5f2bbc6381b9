// SPDX-License-Identifier: BSD-3-Clause
// What all schedules do on a GPU before a sweep: trials are proposed, those that are rejected early
// are found, and the ions are put in order, candidates first.
#pragma once

#include "chain_arrays.cuh"
#include "pairs.cuh"

namespace manymove::coulomb {
namespace {

__device__ void propose_trial(const Rules& r, const ChainArrays& a, std::uint64_t sweep, int i) {
  const Site s = a.site[i];
  const Trial t = propose(r, static_cast<std::uint32_t>(i), sweep, s);
  a.trial[i] = {t.x, t.y, t.z, 0};
  // -ln(u) / (|z| strength), the largest change of the potential that equation 1 accepts.
  a.most[i] = t.most;
  a.decision[i] = t.inside ? candidate : outside;
  // Ion i becomes the head of its cell's linked list; the order within a list has no effect.
  a.next[i] = atomicExch(&a.head[cell_of(r, s)], i);
}

// stage `blocked`: by ions that are tried later or stay inside; `blocked_by_blocked`: by ions whose
// trials were rejected before. Other threads' new decisions count for neither.
template <EarlyDecision Stage>
__device__ void reject_early(const Rules& r, const ChainArrays& a, int i) {
  bool rejected = a.decision[i] != candidate;
  if (!rejected) {
    // A hard core is an infinite energy, which equation 1 rejects without any pair term.
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

// The ions in the order of a sweep, for groups of S trials: place by place.
template <int S>
__device__ unsigned places_of(const ChainArrays& a) {
  return static_cast<unsigned>(a.ions) + 2 * S;
}
template <int S>
__device__ void put_in_place(const ChainArrays& a, unsigned place) {
  const unsigned count = *a.count, others = groups_of<S>(count) * S;
  // [0, count): candidates; up to a whole group: holes; then the other ions; holes to the end.
  int ion = -1;
  if (place < count)
    ion = a.order[place];
  else if (place >= others && place - (others - count) < static_cast<unsigned>(a.ions))
    ion = a.order[place - (others - count)];
  a.ion[place] = ion;
  a.partner[place] = ion < 0 ? hole() : a.site[ion];
  if (place == 0) a.counts->evaluated = count;
}

__global__ void propose_kernel(Rules r, ChainArrays a, std::uint64_t sweep) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < a.ions) propose_trial(r, a, sweep, i);
}
template <EarlyDecision Stage>
__global__ void reject_kernel(Rules r, ChainArrays a) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < a.ions) reject_early<Stage>(r, a, i);
}
template <int S>
__global__ void order_kernel(ChainArrays a) {
  const unsigned place = blockIdx.x * blockDim.x + threadIdx.x;
  if (place < places_of<S>(a)) put_in_place<S>(a, place);
}

__device__ bool exact_overlap(const Rules& r, const double* radius, const Site& trial, int i,
                              const Site& other, int j) {
  return i >= 0 && j >= 0 && too_close(squared_distance(r, trial, other), radius[i], radius[j]);
}

}  // namespace
}  // namespace manymove::coulomb
