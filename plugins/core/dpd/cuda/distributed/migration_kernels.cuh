// SPDX-License-Identifier: BSD-3-Clause
// The kernels by which particles move to other ranks, and to new places in memory.
#pragma once

#include "../link_rows.h"
#include "rebuild_kernels.cuh"

namespace manymove::dpd {

// Particles in the part of another rank.
template <class P>
struct Leaves {
  Brick own;
  const Brick* part;  // by rank
  const typename P::Position* position;
  __device__ bool operator()(int rank, int i) const {
    const typename P::Position p = position[i];
    const unsigned x = high_word(p.x), y = high_word(p.y), z = high_word(p.z);
    return !is_in(own, x, y, z) && is_in(part[rank], x, y, z);
  }
};

// What a particle takes along to another rank. Its row of links follows where there are links.
template <class P>
struct alignas(16) Migrant {
  typename P::Position position;
  typename P::Velocity velocity;
  int3 image;
  Origin origin;
};

template <class P>
struct ParticleArrays {  // by index in the order of particles
  typename P::Position* position;
  typename P::Velocity* velocity;
  unsigned* slot;
};
struct SlotArrays {  // by slot
  int3* image;
  Origin* origin;
  LinkRows links;
};
// Slots for those that come: those that were left last, then new ones.
struct FreeSlots {
  const unsigned* left;
  int number, beyond;
  __device__ unsigned of(int k) const {
    return k < number ? left[number - 1 - k] : static_cast<unsigned>(beyond + k - number);
  }
};

template <class P>
__global__ void pack_migrants_kernel(const unsigned* who, ParticleArrays<P> from,
                                     SlotArrays slot_arrays, std::size_t apart,
                                     const __grid_constant__ Places<Migrant<P>> to) {
  const int k = to.index();
  if (k < 0) return;
  const unsigned i = who[k], slot = from.slot[i];
  Migrant<P>& migrant = to.mine(apart);
  migrant = {from.position[i], from.velocity[i], slot_arrays.image[slot], slot_arrays.origin[slot]};
  copy_row(slot_arrays.links.row(slot), slot_arrays.links.words(),
           row_behind(&migrant, sizeof(Migrant<P>)));
}
static __global__ void leave_slot_kernel(int count, const unsigned* who, const unsigned* slot,
                                         unsigned* left) {
  const int k = static_cast<int>(blockIdx.x * kSorters + threadIdx.x);
  if (k < count) left[k] = slot[who[k]];
}

template <class P>
__global__ void unpack_migrants_kernel(const __grid_constant__ Places<Migrant<P>> from,
                                       std::size_t apart, int first, FreeSlots slots,
                                       ParticleArrays<P> to, SlotArrays slot_arrays,
                                       Absent absent) {
  const int k = from.index();
  if (k < 0) return;
  Migrant<P>& record = from.mine(apart);
  Migrant<P> migrant = record;
  LinkWord* const row = row_behind(&record, sizeof(Migrant<P>));
  if (absent.are_all()) {
    absent.replace<P>(k, migrant.position, migrant.velocity);
    if (slot_arrays.links.words()) row[0] = 0;
  }
  const unsigned slot = slots.of(k);
  to.position[first + k] = migrant.position;
  to.velocity[first + k] = migrant.velocity;
  to.slot[first + k] = slot;
  slot_arrays.image[slot] = migrant.image;
  slot_arrays.origin[slot] = migrant.origin;
  copy_row(row, slot_arrays.links.words(), slot_arrays.links.row(slot));
}

// Cells all of whose particles are farther than the reach of lists from other ranks' parts, from
// first to last along each edge of the frame.
struct Core {
  int first[3], last[3];
};
// Of a cell that is here.
inline bool is_core_cell(const Cells& cells, const Core& core, const CellPlace& cell) {
  const auto inside = [&](int c, int a) {
    const int along = c + cells.first[a] < cells.count[a] ? c + cells.first[a]
                                                          : c + cells.first[a] - cells.count[a];
    return along >= core.first[a] && along <= core.last[a];
  };
  return inside(cell.x, 0) && inside(cell.y, 1) && inside(cell.z, 2);
}
__device__ inline bool is_inner(const Cells& cells, const Core& core, unsigned x, unsigned y,
                                unsigned z) {
  const auto inside = [&](unsigned u, int a) {
    const int c = static_cast<int>(bin_of(u, static_cast<unsigned>(cells.count[a])));
    return c >= core.first[a] && c <= core.last[a];
  };
  return inside(x, 0) && inside(y, 1) && inside(z, 2);
}

// How far from other ranks' parts a particle is: 0 outer, 1 near, with outer ones among its
// neighbors perhaps, 2 far.
struct Depths {
  Core core, deep;
  __device__ unsigned of(const Cells& cells, unsigned x, unsigned y, unsigned z) const {
    return !is_inner(cells, core, x, y, z) ? 0 : is_inner(cells, deep, x, y, z) ? 2 : 1;
  }
};

// The core: cells whose particles have no neighbors in other parts and are not within the reach of
// particles there. Deep: cells that are surrounded by such cells only. here: the part, grown by the
// reach of lists.
inline Depths depths_of(const Cells& cells, const Brick& own, const Brick& here) {
  Depths depths;
  auto& [core, deep] = depths;
  for (int a = 0; a < 3; ++a) {
    deep.first[a] = core.first[a] = 0;
    deep.last[a] = core.last[a] = cells.count[a] - 1;
    if (own.beyond[a] == 0xffffffffu) continue;
    // The reach of lists on one side, from the part that is grown by it on both.
    const std::uint64_t reach =
        here.beyond[a] == 0xffffffffu ? 0xffffffffu : own.low[a] - here.low[a];
    if (own.beyond[a] < 2 * reach) {
      deep.last[a] = core.last[a] = -1;
      continue;
    }
    const auto along = static_cast<std::uint32_t>(cells.count[a]);
    const auto low = own.low[a] + static_cast<std::uint32_t>(reach),
               high = own.low[a] + own.beyond[a] - static_cast<std::uint32_t>(reach);
    core.first[a] = static_cast<int>(bin_of(low, along)) + 1;
    core.last[a] = static_cast<int>(bin_of(high, along)) - 1;
    deep.first[a] = core.first[a] + 1;
    deep.last[a] = core.last[a] - 1;
  }
  return depths;
}

// One thread per particle: outer ones come first, then the near, then the far, each in the order of
// cells; those that left for another rank are last. These should be among the first `suspects`.
template <class P>
__global__ void place_kernel(int count, int suspects, Cells cells,
                             const __grid_constant__ Motion<P> motion, Depths depths, Brick own,
                             const typename P::Position* position,
                             const typename P::Velocity* velocity, unsigned* key, unsigned* order,
                             RebuildFlags* flags) {
  const int i = static_cast<int>(blockIdx.x * kSorters + threadIdx.x);
  if (i >= count) return;
  const typename P::Position p = position[i];
  const typename P::Velocity v = velocity[i];
  const unsigned x = high_word(p.x), y = high_word(p.y), z = high_word(p.z);
  if (outside(motion.frame.open, x, y, z)) atomicMax(&flags->beyond, v.tag);
  const Ball b = ball_of<P>(cells, motion, p, v);
  const bool stays = is_in(own, x, y, z);
  if (!stays && i >= suspects) flags->strayed = 1;
  key[i] = stays ? morton_key(cells, b.x, b.y, b.z) | depths.of(cells, b.x, b.y, b.z)
                                                          << 3 * cells.bits
                 : ~0u;
  order[i] = static_cast<unsigned>(i);
}

// One thread per particle: takes it to its new place.
template <class P>
__global__ void settle_kernel(int count, Cells cells, const __grid_constant__ Motion<P> motion,
                              Shorts shorts, const unsigned* key, const unsigned* order,
                              ParticleArrays<P> from, ParticleArrays<P> to, Short* short_position,
                              unsigned* tag, Ball* ball, int2* range, Bounds* bounds) {
  const int i = static_cast<int>(blockIdx.x * kSorters + threadIdx.x);
  if (i >= count) return;
  const unsigned old = order[i];
  const typename P::Position p = from.position[old];
  const typename P::Velocity v = from.velocity[old];
  to.position[i] = p;
  to.velocity[i] = v;
  to.slot[i] = from.slot[old];
  tag[i] = v.tag;
  short_position[i] = short_of(shorts, high_word(p.x), high_word(p.y), high_word(p.z));
  ball[i] = ball_of<P>(cells, motion, p, v);
  mark_cell(cells, i, 0, count, key, range);
  const unsigned depth = key[i] >> 3 * cells.bits,
                 before = i > 0 ? key[i - 1] >> 3 * cells.bits : 0;
  const auto here = static_cast<unsigned>(i), all = static_cast<unsigned>(count);
  if (before < 1 && depth >= 1) bounds->outer = here;
  if (before < 2 && depth == 2) bounds->near = here;
  if (i < count - 1) return;
  if (depth < 1) bounds->outer = all;
  if (depth < 2) bounds->near = all;
}

}  // namespace manymove::dpd
