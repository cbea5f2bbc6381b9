// SPDX-License-Identifier: BSD-3-Clause
// What a sweep of the method "tree" has in the memory of a GPU, and the kernels that prepare its
// trials: their places, and the ions with which they may overlap.
#pragma once

#include "tree_estimates.cuh"

namespace manymove::coulomb {
namespace {

struct TreeArrays {
  ChainArrays chain;  // as the sweep has moved it so far
  // By place in the order of a sweep, candidates only
  Site* from;
  Site* to;
  std::int64_t* limit;     // largest change of the potential that is accepted
  std::int32_t* conflict;  // first entry of `conflicts`, kFree or kSearch
  double* change;          // estimate, in units of the potential
  double* error;           // in quanta
  std::uint8_t* accepted;
  std::uint8_t* moved;  // by ion: in this sweep, as guessed so far
  // Where candidates would put their ions; those of `chain` are where ions were at the start of the
  // sweep
  std::int32_t *new_head, *new_next;
  // Ions with which trials would overlap, list after list, each ending with -1: twice the index,
  // plus 1 for an overlap with the new place
  std::int32_t* conflicts;
  unsigned conflicts_capacity;
  unsigned* conflicts_used;
  // Lists of a batch, by round: trials whose guess has changed, and trials that the estimate leaves
  // open. The three lists are for the round before, for this one, and for the next.
  std::int32_t *flipped[3], *open[3];
  unsigned long long* exact;  // sums of the open trials
  // What the trials of a batch that are accepted at first change for later ones, and its error
  double *from_first, *first_error;
  unsigned* count;  // of these lists
  // With a vacuum around, by place: what the trial would add to the dipole moment, and what earlier
  // trials of its batch add. The moment of `chain` is that before the batch.
  Dipole *gain, *earlier;
  double quanta;
  Deal deal;  // of the present epoch

  __device__ CellListView new_lists() const { return {new_head, new_next}; }
};
enum { kFlipped = 0, kOpen = 3, kCounts = 6 };
constexpr std::int32_t kFree = -1, kSearch = -2;

// Sites, new places and limits by place in the order of a sweep; new places by cell; with a vacuum
// around what the trials would add to the dipole moment. A thread per candidate, here and below.
__global__ void arrange_kernel(const __grid_constant__ Rules r, TreeArrays v) {
  const int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= static_cast<int>(*v.chain.count)) return;
  const int i = v.chain.order[k];
  const Site at = v.chain.site[i], to = site_of(v.chain.trial[i], at.charge);
  v.from[k] = at;
  v.to[k] = to;
  v.limit[k] = v.chain.most[i];
  v.new_next[i] = atomicExch(&v.new_head[cell_of(r, to)], i);
  if (r.vacuum == 0) return;
  v.gain[k] = dipole_gain(r, at, to, v.chain.image + 3 * static_cast<std::size_t>(i));
  v.earlier[k] = {0, 0, 0};
}

// Lists the ions with which candidates may overlap at their turn. Where the memory for that is used
// up, the trial searches for them.
__global__ void conflicts_kernel(const __grid_constant__ Rules r, TreeArrays v) {
  const int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= static_cast<int>(*v.chain.count)) return;
  const int i = v.chain.order[k];
  const Site to = site_at(v.to, k);
  const auto close = [&](int j, const Site& at) {
    return too_close(squared_distance(r, to, at), v.chain.radius[i], v.chain.radius[j]);
  };
  // 2 j: ion j where it is; 2 j + 1: where an earlier trial would take it.
  const auto each = [&](auto note) {
    any_nearby(r, v.chain.lists(), to, [&](int j) {
      if (j != i && close(j, site_at(v.chain.site, j))) note(2 * j);
      return false;
    });
    any_nearby(r, v.new_lists(), to, [&](int j) {
      if (j < i && close(j, site_of(v.chain.trial[j], 0))) note(2 * j + 1);
      return false;
    });
  };
  unsigned found = 0;
  each([&](int) { ++found; });
  v.conflict[k] = kFree;
  if (found == 0) return;
  // Room for the entries and the end of the list, or for neither.
  const unsigned first = atomicAdd(v.conflicts_used, found + 1);
  v.conflict[k] = kSearch;
  if (first + found >= v.conflicts_capacity) return;
  v.conflict[k] = static_cast<std::int32_t>(first);
  unsigned at = first;
  each([&](int entry) { v.conflicts[at++] = entry; });
  v.conflicts[at] = -1;
}

}  // namespace
}  // namespace manymove::coulomb
