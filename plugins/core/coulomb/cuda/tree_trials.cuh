// SPDX-License-Identifier: BSD-3-Clause
// What a sweep of the method "tree" has in the memory of a GPU, and the kernels that prepare its
// trials: their places, and the ions with which they may overlap.
#pragma once

#include "tree_estimates.cuh"
#include "tree.h"

namespace manymove::coulomb {
namespace {

struct TreeView {
  // By place in the order of a sweep, hopeful trials only
  const Site* from;
  const Site* to;
  const std::int32_t* order;
  const std::int64_t* limit;     // largest change of the potential that is accepted
  const std::int32_t* conflict;  // first entry of `conflicts`, kFree or kSearch
  double* change;                // estimate, in units of the potential
  double* error;                 // in quanta
  std::uint8_t* accepted;
  // By ion
  Site* site;
  std::uint8_t* moved;  // in this sweep, as guessed so far
  const double* radius;
  const std::int32_t *head, *next;          // where ions were at the start of the sweep
  const std::int32_t *new_head, *new_next;  // where hopeful trials would put them
  // Ions with which trials would overlap, list after list, each ending with -1: twice the index,
  // plus 1 for an overlap with the new place
  const std::int32_t* conflicts;
  // Lists of a batch, by round: trials whose guess has changed, and trials that the estimate leaves
  // open. Those of the round before, of this one, and of the next
  std::int32_t *flipped[3], *open[3];
  unsigned long long* exact;  // sums of the open trials
  // What the trials of a batch that are accepted at first change for later ones, and its error
  double *from_first, *first_error;
  unsigned* count;  // of these lists
  TreeTally* tally;
  // With a vacuum around: by place, what the trial would add to the dipole moment, and what earlier
  // trials of its batch add; by ion, images; and the dipole moment before the batch
  Dipole *gain, *earlier;
  std::int32_t* image;
  Dipole* dipole;
  double quanta;
  int ions;
  Deal deal;  // of the present epoch
};
enum { kFlipped = 0, kOpen = 3, kCounts = 6 };
constexpr std::int32_t kFree = -1, kSearch = -2;

// Sites, new places and limits by place in the order of a sweep; new places by cell.
__global__ void arrange_kernel(const __grid_constant__ Rules r, const Site* site,
                               const float4* trial, const std::int64_t* most,
                               const std::int32_t* order, const std::uint32_t* count, Site* from,
                               Site* to, std::int64_t* limit, std::int32_t* new_head,
                               std::int32_t* new_next) {
  const int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= static_cast<int>(*count)) return;
  const int i = order[k];
  const float4 t = trial[i];
  const Site at = site[i];
  from[k] = at;
  to[k] = {t.x, t.y, t.z, at.charge};
  limit[k] = most[i];
  new_next[i] = atomicExch(&new_head[cell_of(r, t.x, t.y, t.z)], i);
}

// Lists the ions with which hopeful trials may overlap at their turn. Where the memory for that is
// used up, the trial searches for them. A thread per trial.
__global__ void conflicts_kernel(const __grid_constant__ Rules r, TreeView v, const float4* trial,
                                 const std::uint32_t* count, std::int32_t* conflict,
                                 std::int32_t* conflicts, unsigned capacity, unsigned* used) {
  const int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= static_cast<int>(*count)) return;
  const int i = v.order[k];
  const Site to = site_at(v.to, k);
  const auto close = [&](int j, float x, float y, float z) {
    return too_close(squared_distance(r, to.x, to.y, to.z, Site{x, y, z, 0}), v.radius[i],
                     v.radius[j]);
  };
  const auto each = [&](auto note) {
    any_nearby(r, {v.head, v.next}, to.x, to.y, to.z, [&](int j) {
      const Site at = site_at(v.site, j);
      if (j != i && close(j, at.x, at.y, at.z)) note(2 * j);
      return false;
    });
    any_nearby(r, {v.new_head, v.new_next}, to.x, to.y, to.z, [&](int j) {
      if (j < i && close(j, trial[j].x, trial[j].y, trial[j].z)) note(2 * j + 1);
      return false;
    });
  };
  unsigned found = 0;
  each([&](int) { ++found; });
  conflict[k] = kFree;
  if (found == 0) return;
  const unsigned first = atomicAdd(used, found + 1);
  conflict[k] = kSearch;
  if (first + found >= capacity) return;
  conflict[k] = static_cast<std::int32_t>(first);
  unsigned at = first;
  each([&](int entry) { conflicts[at++] = entry; });
  conflicts[at] = -1;
}

// With a vacuum around, of hopeful trials.
__global__ void gains_kernel(const __grid_constant__ Rules r, TreeView v,
                             const std::uint32_t* count) {
  const int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= static_cast<int>(*count)) return;
  v.gain[k] = dipole_gain(r, site_at(v.from, k), site_at(v.to, k),
                          v.image + 3 * static_cast<std::size_t>(v.order[k]));
  v.earlier[k] = {0, 0, 0};
}

}  // namespace
}  // namespace manymove::coulomb
