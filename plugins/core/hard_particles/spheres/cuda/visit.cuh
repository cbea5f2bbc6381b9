// SPDX-License-Identifier: BSD-3-Clause
// Visits of the cells of a set on a GPU: a thread, or several together, for each cell.
#pragma once

#include "../model.h"

namespace manymove::hard_particles::spheres {
namespace {

// A tile in local storage.
template <int D, Contact C>
struct Tile {
  const Geometry& g;
  const Law& law;
  float step;
  const TileBounds& bounds;
  float4* spheres;
  const std::uint32_t* ids;
  const std::uint32_t* first;
  std::uint32_t where;  // of the tile's first cell, for the random numbers

  __device__ std::uint32_t id(std::uint32_t k) const {
    return C == Contact::one_size ? __float_as_uint(spheres[k].w) : ids[k];
  }
  // One of the 3^(D-1) runs of particles in three cells around a cell, which follow each other
  // along x.
  struct Run {
    std::uint32_t begin, end;
  };
  __device__ Run run(int cell, int row) const {
    const int z = row / 3, y = row - 3 * z;
    const int rows = bounds.size[0] + 1, layers = rows * (bounds.size[1] + 1);
    const std::uint32_t* const f =
        first + cell - 1 + (y - 1) * rows + (D == 3 ? (z - 1) * layers : 0);
    return {f[0], f[3]};
  }
};

__device__ Label label_of(const float4& p) {
  Label label;
  label.radius = p.w;
  return label;
}

// The float32 contact distance of a pair in local storage, where the label of a particle of a table
// whose contact distances are sums is its radius.
template <Contact C>
__device__ float local_sigma(const Law& law, const float4& p, const float4& q) {
  if (C == Contact::table && law.radii) return p.w + q.w;
  return sigma_of<C>(law, label_of(p), label_of(q));
}

// Keeps the compiler from loading a constant again and again.
__device__ float in_register(float x) {
  asm volatile("" : "+f"(x));
  return x;
}

// What the threads of a block write down for a visit, in shared memory.
struct Workspace {
  float4* moves;         // [moves of a cell][threads / Lanes]
  std::uint16_t* lists;  // [threads][list]
  int list;
};

// The visits of a set, with Lanes threads for each cell (1, 2, 4 or 8), each of which has a share
// of the neighbors, K of them in registers. The neighbors that a visit can reach are listed once,
// from Runs runs of cells at a time (1 or 3), of each of which a thread loads AtOnce at once: more
// hide latency, fewer need fewer registers.
template <int D, Contact C, int K, int Lanes, int Runs, int AtOnce = (Lanes < 4 ? 4 : 8 / Lanes)>
struct Visit {
  static constexpr unsigned kWarp = ~0u;
  static constexpr float kNone = 1e30f, kFar = 1e38f;  // squares beyond all
  // Calls of the random number generator by each thread before a list is made, and the moves that
  // it and all threads of the cell get from them.
  static constexpr int kCalls = Lanes < 4 ? 4 / Lanes : 1;
  static constexpr int kMine = kCalls * kMovesPerCall<D>, kMoves = kMine * Lanes;
  static constexpr int kAtOnce = AtOnce;
  // Neighbors that a thread has room to list, twice what is expected at high densities; what is
  // loaded at once may not be any. An odd number of 32-bit words, so that threads use all banks.
  static constexpr int kRoom =
      ((C == Contact::one_size ? 20 : 40) / Lanes + Runs * kAtOnce + 5) / 4 * 4 + 2;
  static_assert(K % 2 == 0 && K <= kRoom);
  using T = Tile<D, C>;

  static __device__ bool all_of_group(bool mine) {
    if constexpr (Lanes == 1) return mine;
    constexpr unsigned kGroup = (1u << Lanes) - 1;
    const int shift = threadIdx.x % 32 & ~(Lanes - 1);
    return (__ballot_sync(kWarp, !mine) & kGroup << shift) == 0;
  }

  // Whether the particle at r is apart from those of its neighbors that are this thread's, exactly.
  // A list that is too short for them is not asked.
  static __device__ __noinline__ bool exactly_free(const T& tile, std::uint32_t self, float4 r,
                                                   int cell, const std::uint16_t* list, int listed,
                                                   int room) {
    bool free = true;
    const auto look = [&](std::uint32_t j) {
      const float4 q = tile.spheres[j];
      if (j != self &&
          !apart<C>(tile.law, tile.id(self), tile.id(j), q.x - r.x, q.y - r.y, q.z - r.z))
        free = false;
    };
    if (listed <= room)
      for (int k = 0; k < listed; ++k) look(list[k]);
    else
      for (int row = 0; row < (D == 3 ? 9 : 3); ++row) {
        const auto [begin, end] = tile.run(cell, row);
        for (std::uint32_t j = begin + threadIdx.x % Lanes; j < end; j += Lanes) look(j);
      }
    return free;
  }

  // Lists this thread's share of the particles closer than the contact distance plus `reach`;
  // returns how many there are, or more than `room` if there may not be room for all.
  static __device__ int list_neighbors(const T& tile, const Law& law, int cell, std::uint32_t self,
                                       const float4& p, float reach, std::uint16_t* list,
                                       int room) {
    int listed = 0;
    const auto look = [&](std::uint32_t j, const float4& q) {
      const float dx = q.x - p.x, dy = q.y - p.y, dz = q.z - p.z;
      const float square = fmaf(dx, dx, fmaf(dy, dy, D == 3 ? dz * dz : 0.0f));
      const float far = local_sigma<C>(law, p, q) + reach;
      if (square < far * far && j != self) {
        list[listed++] = static_cast<std::uint16_t>(j);
      }
    };
    const int full = room - Runs * kAtOnce;
#pragma unroll 1
    for (int row = 0; row < (D == 3 ? 9 : 3); row += Runs) {
      if (listed > full) return room + 1;
      std::uint32_t name[Runs][kAtOnce];
      float4 q[Runs][kAtOnce];
      bool more = false;
#pragma unroll
      for (int r = 0; r < Runs; ++r) {
        const auto [begin, end] = tile.run(cell, row + r);
        const std::uint32_t mine = begin + threadIdx.x % Lanes;
#pragma unroll
        for (int k = 0; k < kAtOnce; ++k)
          name[r][k] = mine + k * Lanes < end ? mine + k * Lanes : self;
        more = more || mine + kAtOnce * Lanes < end;
      }
#pragma unroll
      for (int r = 0; r < Runs; ++r)
#pragma unroll
        for (int k = 0; k < kAtOnce; ++k) q[r][k] = tile.spheres[name[r][k]];
#pragma unroll
      for (int r = 0; r < Runs; ++r)
#pragma unroll
        for (int k = 0; k < kAtOnce; ++k) look(name[r][k], q[r][k]);
      if (more)
#pragma unroll 1
        for (int r = 0; r < Runs; ++r) {
          const auto [begin, end] = tile.run(cell, row + r);
#pragma unroll 1
          for (std::uint32_t j = begin + threadIdx.x % Lanes + kAtOnce * Lanes; j < end;
               j += Lanes) {
            if (listed > full) return room + 1;
            look(j, tile.spheres[j]);
          }
        }
    }
    return listed;
  }

  // `entry`: the cell. `real`: it is not just there to fill the warp.
  static __device__ int visit(const T& tile, std::uint64_t cycle, int round, std::uint32_t entry,
                              const Workspace& work, bool real) {
    const Geometry& g = tile.g;
    const Law law = tile.law;
    const int at[3] = {static_cast<int>(entry & 31u), static_cast<int>(entry >> 5 & 31u),
                       static_cast<int>(entry >> 10)};
    const int cell = local_index<D>(tile.bounds, at), room = work.list;
    const int lane = threadIdx.x % Lanes, groups = blockDim.x / Lanes;
    float4* const moves = work.moves + threadIdx.x / Lanes;
    std::uint16_t* const list = work.lists + threadIdx.x * room;
    std::uint32_t self = 0;
    float4 p;
    int accepted = 0;
#pragma unroll 1
    for (int made = 0; made < g.moves_per_cell; made += kMoves) {
      // The way leads at most as far as the sums of the moves to either side, within the cell.
      float up[D], down[D];
      std::uint32_t chooses = 0;
#pragma unroll
      for (int a = 0; a < D; ++a) up[a] = down[a] = 0;
#pragma unroll
      for (int k = 0; k < kCalls; ++k) {
        const int call = k * Lanes + lane;
        std::uint32_t word[4];
        random_words(word, g, tile.where + static_cast<std::uint32_t>(cell), cycle,
                     Purpose::displacement, round, made / kMovesPerCall<D> + call);
        if (k == 0) chooses = word[3];
#pragma unroll
        for (int m = 0; m < kMovesPerCall<D>; ++m) {
          const int move = call * kMovesPerCall<D> + m;
          float by[D];
          displacements<D>(word, m, tile.step, by);
          moves[move * groups] = make_float4(by[0], by[1], D == 3 ? by[D - 1] : 0.0f, 0.0f);
#pragma unroll
          for (int a = 0; a < D; ++a) {
            if (made + move >= g.moves_per_cell) by[a] = 0;
            up[a] += fmaxf(by[a], 0.0f);
            down[a] -= fminf(by[a], 0.0f);
          }
        }
      }
      if (made == 0) {
        const std::uint32_t begin = tile.first[cell], n = tile.first[cell + 1] - begin;
        if (Lanes > 1) chooses = __shfl_sync(kWarp, chooses, threadIdx.x % 32 - lane);
        self = begin + uniform_below(chooses, n);
        p = tile.spheres[self];
      }
      const float start[3] = {p.x, p.y, p.z};
      float middle[3], reach2 = 0;  // the cell's, from the particle
#pragma unroll
      for (int a = 0; a < D; ++a) {
#pragma unroll
        for (int other = 1; other < Lanes; other *= 2) {
          up[a] += __shfl_xor_sync(kWarp, up[a], other);
          down[a] += __shfl_xor_sync(kWarp, down[a], other);
        }
        middle[a] = cell_center(g, tile.bounds, a, at[a]) - start[a];
        const float most =
            fmaxf(fminf(up[a], g.half[a] + middle[a]), fminf(down[a], g.half[a] - middle[a]));
        reach2 = fmaf(most, most, reach2);
      }
      const float reach = sqrtf(reach2) * (1 + 4e-6f) + 4e-6f * law.largest;
      const int listed = list_neighbors(tile, law, cell, self, p, reach, list, room);
      const int held = listed > room ? 0 : listed;

      float x[K], y[K], z[K], gap[K];
      const auto take = [&](std::uint32_t j, float& x, float& y, float& z, float& gap) {
        const float4 q = tile.spheres[j];
        x = q.x - p.x;
        y = q.y - p.y;
        z = q.z - p.z;
        const float sigma = local_sigma<C>(law, p, q);
        gap = fmaf(x, x, fmaf(y, y, D == 3 ? z * z : 0.0f)) - sigma * sigma;
      };
#pragma unroll
      for (int k = 0; k < K; ++k) {
        const std::uint32_t two = reinterpret_cast<const std::uint32_t*>(list)[k / 2];
        x[k] = y[k] = z[k] = 0;
        gap[k] = kNone;
        if (k < held) take(k % 2 ? two >> 16 : two & 0xffffu, x[k], y[k], z[k], gap[k]);
      }

      // What is below -margin overlaps and what is above `sure` does not.
      const float margin = law.margin, sure = listed > room ? 0.5f * kFar : margin;
      float half[D];
#pragma unroll
      for (int a = 0; a < D; ++a) half[a] = in_register(g.half[a]);
      float u[3] = {0, 0, 0};
      const int end = min(kMoves, g.moves_per_cell - made);
      __syncwarp();
#pragma unroll 2
      for (int move = 0; move < end; ++move) {
        const float4 by = moves[move * groups];
        const float to[3] = {u[0] + by.x, u[1] + by.y, u[2] + by.z};
        bool inside = true;
#pragma unroll
        for (int a = 0; a < D; ++a) inside &= fabsf(to[a] - middle[a]) < half[a];
        const float ax = -2 * to[0], ay = -2 * to[1], az = -2 * to[2];
        const auto term = [&](float x, float y, float z, float gap) {
          const float t = fmaf(x, ax, fmaf(y, ay, gap));
          return D == 3 ? fmaf(z, az, t) : t;
        };
        float even = term(x[0], y[0], z[0], gap[0]), odd = term(x[1], y[1], z[1], gap[1]);
#pragma unroll
        for (int k = 2; k < K; ++k) {
          float& least = k % 2 ? odd : even;
          least = fminf(least, term(x[k], y[k], z[k], gap[k]));
        }
#pragma unroll 1
        for (int k = K; k < held; ++k) {
          float x, y, z, gap;
          take(list[k], x, y, z, gap);
          even = fminf(even, term(x, y, z, gap));
        }
        float least = fminf(even, odd) + squared_length<D>(to);
        const bool ask = inside && least <= sure && least >= -margin;
        if (Lanes > 1 ? __any_sync(kWarp, ask) : ask) {
          const float4 r = make_float4(p.x + to[0], p.y + to[1], p.z + to[2], 0.0f);
          if (ask) least = exactly_free(tile, self, r, cell, list, listed, room) ? kFar : -kFar;
          if (Lanes > 1) __syncwarp();
        }
        const bool accept = all_of_group(least > sure) && inside;
        if (accept) {
#pragma unroll
          for (int a = 0; a < D; ++a) u[a] = to[a];
          ++accepted;
        }
      }
      __syncwarp();
      p.x += u[0];
      p.y += u[1];
      p.z += u[2];
    }
    if (!real || lane != 0) return 0;
    if (accepted) tile.spheres[self] = p;
    return accepted;
  }

  // Returns the accepted moves.
  static __device__ int visit_set(const T& tile, std::uint64_t cycle, int round,
                                  const std::uint16_t* cells, int members, const Workspace& work) {
    constexpr int kCells = 32 / Lanes;  // of a warp
    int accepted = 0;
#pragma unroll 1
    for (int i = threadIdx.x / Lanes; (i & -kCells) < members; i += blockDim.x / Lanes) {
      const bool real = i < members;
      accepted += visit(tile, cycle, round, cells[real ? i : i & -kCells], work, real);
    }
    return accepted;
  }
};

}  // namespace
}  // namespace manymove::hard_particles::spheres
