// SPDX-License-Identifier: BSD-3-Clause
// A visit of a cell of equal disks by all threads of a warp, without estimates.
#pragma once

#include "../../runtime/warp.cuh"
#include "../equal_disks.h"

namespace manymove::hard_particles::equal_disks {
namespace {

// Does what visit_any() does, with the exact predicate and all threads of a warp: each has a slot
// of a neighbor and one of the cell. Returns the accepted moves to each of them.
__device__ int visit_together(const Geometry& g, std::uint64_t cycle, int round,
                              const LocalCell& at, std::uint32_t entry, std::uint32_t where) {
  constexpr unsigned kAll = ~0u;
  const int lane = static_cast<int>(threadIdx.x) & 31, mine = lane & 3, n = entry_count(entry);
  // Lane 4 k + s has slot s of neighbor k, and slot s of the cell itself.
  const Neighbor near = at.near[lane >> 2];
  const Position q = at.slot[mine * at.plane + near.offset];
  Position own = at.slot[mine * at.plane];
  std::uint32_t word[4];
  unsigned order = 0xe4;
  if (n > 2) {
    random_words(word, g, where, cycle, Purpose::shuffle, round, 0);
    order = permutation<2>(n, word);
  }
  int accepted = 0, turn = 0;
#pragma unroll 1
  for (int made = 0; made < g.moves_per_cell; ++made) {
    if ((made & 3) == 0)
      random_words(word, g, where, cycle, Purpose::displacement, round, made >> 2);
    if (made == 0 && n == 2 && first_of_pair(word[0])) order = 0x1;
    const int slot = static_cast<int>(order >> (2 * turn) & 3u);
    turn = turn + 1 == n ? 0 : turn + 1;
    // r' = r + delta for the disk whose turn it is, |r_j - r'|^2 >= d^2 for the disk of this lane.
    const float x = value_of_lane(own.x, slot) + displacement(word[0], g.step),
                y = value_of_lane(own.y, slot) + displacement(other_half(word[0]), g.step);
    word[0] = word[1];
    word[1] = word[2];
    word[2] = word[3];
    const bool apart =
        (q.x == kEmpty || exactly_apart(q.x + near.x - x, q.y + near.y - y, g.contact)) &&
        (mine == slot || own.x == kEmpty || exactly_apart(own.x - x, own.y - y, g.contact));
    // Accepted if no lane objects: no overlap with any of 32 slots, and the center stays in the
    // cell.
    if (!__all_sync(kAll, apart && abs_of(x) < g.half[0] && abs_of(y) < g.half[1])) continue;
    if (mine == slot) own = {x, y};
    ++accepted;
  }
  if (lane < kSlots) at.slot[mine * at.plane] = own;
  return accepted;
}

}  // namespace
}  // namespace manymove::hard_particles::equal_disks
