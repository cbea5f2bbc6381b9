// SPDX-License-Identifier: BSD-3-Clause
// The kernels that exchange copies of particles near the parts of other ranks.
#pragma once

#include "rebuild_kernels.cuh"

namespace manymove::dpd {

// Particles that another rank knows: all of them are outer ones.
struct IsKnown {
  const Brick* reached;  // by neighbor
  const Bounds* bounds;
  const Ball* ball;
  __device__ bool operator()(int neighbor, int i) const {
    if (static_cast<unsigned>(i) >= bounds->outer) return false;
    const Ball b = ball[i];
    return is_in(reached[neighbor], b.x, b.y, b.z);
  }
};

// A ghost when lists are built, and between builds.
template <class P>
struct alignas(16) Ghost {
  typename P::Position position;
  typename P::Velocity velocity;
};
template <class P>
struct GhostUpdate {  // without what does not change
  typename P::Unsigned x, y, z;
  typename P::Real vx, vy, vz;
};

template <class P>
__global__ void pack_ghosts_kernel(const unsigned* who, const typename P::Position* position,
                                   const typename P::Velocity* velocity,
                                   const __grid_constant__ Places<Ghost<P>> to) {
  const int k = to.index();
  if (k >= 0) to.mine() = {position[who[k]], velocity[who[k]]};
}

template <class P>
__global__ void ghost_key_kernel(const __grid_constant__ Places<Ghost<P>> from, Cells cells,
                                 const __grid_constant__ Motion<P> motion, Ghost<P>* ghost,
                                 unsigned* key, unsigned* order, Absent absent) {
  const int k = from.index();
  if (k < 0) return;
  Ghost<P> g = from.mine();
  if (absent.are_all()) absent.replace<P>(k, g.position, g.velocity);
  const Ball b = ball_of<P>(cells, motion, g.position, g.velocity);
  ghost[k] = g;
  key[k] = morton_key(cells, b.x, b.y, b.z);
  order[k] = static_cast<unsigned>(k);
}

// One thread per ghost, in the order of cells; they are kept behind the rank's own particles.
template <class P>
__global__ void place_ghosts_kernel(int count, int first, Cells cells,
                                    const __grid_constant__ Motion<P> motion, Shorts shorts,
                                    const unsigned* key, const unsigned* order,
                                    const Ghost<P>* ghost, typename P::Position* position,
                                    typename P::Velocity* velocity, Short* short_position,
                                    Ball* ball, unsigned* place, int2* range) {
  const int k = static_cast<int>(blockIdx.x * kSorters + threadIdx.x);
  if (k >= count) return;
  const int i = first + k;
  const Ghost<P> g = ghost[order[k]];
  const typename P::Position p = g.position;
  position[i] = p;
  velocity[i] = g.velocity;
  short_position[i] = short_of(shorts, high_word(p.x), high_word(p.y), high_word(p.z));
  ball[i] = ball_of<P>(cells, motion, p, g.velocity);
  place[order[k]] = static_cast<unsigned>(i);
  mark_cell(cells, k, first, count, key, range);
}

template <class P>
__global__ void pack_updates_kernel(const unsigned* who, const typename P::Position* position,
                                    const typename P::Velocity* velocity,
                                    const __grid_constant__ Places<GhostUpdate<P>> to) {
  __shared__ alignas(16) GhostUpdate<P> record[kSorters];
  if (const int k = to.index(); k >= 0) {
    const typename P::Position p = position[who[k]];
    const typename P::Velocity v = velocity[who[k]];
    record[threadIdx.x] = {p.x, p.y, p.z, v.x, v.y, v.z};
  }
  __syncthreads();
  carry<true>(to, record);
}

// known: positions and velocities at the last build.
template <class P>
__global__ void unpack_updates_kernel(Shorts shorts, const unsigned* place,
                                      const __grid_constant__ Places<GhostUpdate<P>> from,
                                      const typename P::Position* known_position,
                                      const typename P::Velocity* known_velocity,
                                      typename P::Position* position,
                                      typename P::Velocity* velocity, Short* short_position) {
  __shared__ alignas(16) GhostUpdate<P> record[kSorters];
  carry<false>(from, record);
  __syncthreads();
  const int k = from.index();
  if (k < 0) return;
  const unsigned i = place[k];
  const GhostUpdate<P> m = record[threadIdx.x];
  typename P::Position p = known_position[i];
  p.x = m.x;
  p.y = m.y;
  p.z = m.z;
  typename P::Velocity v = known_velocity[i];
  v.x = m.vx;
  v.y = m.vy;
  v.z = m.vz;
  position[i] = p;
  velocity[i] = v;
  short_position[i] = short_of(shorts, high_word(p.x), high_word(p.y), high_word(p.z));
}

}  // namespace manymove::dpd
