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
  const TileBounds& bounds;
  float4* spheres;
  const std::uint32_t* ids;
  const std::uint32_t* first;
  std::uint32_t where;  // of the tile's first cell, for the random numbers

  __device__ std::uint32_t id(std::uint32_t k) const {
    return C == Contact::one_size ? __float_as_uint(spheres[k].w) : ids[k];
  }
  // The runs of particles around a cell, in each of which cells follow each other along x.
  template <class Run>
  __device__ void for_runs(const int cell[3], Run&& run) const {
    const int rows = bounds.size[0] + 1, layers = rows * (bounds.size[1] + 1);
    const int corner = local_index<D>(bounds, cell) - 1 - rows - (D == 3 ? layers : 0);
#pragma unroll 1
    for (int z = 0; z < (D == 3 ? 3 : 1); ++z)
#pragma unroll
      for (int y = 0; y < 3; ++y) {
        const std::uint32_t* const f = first + corner + z * layers + y * rows;
        run(f[0], f[3]);
      }
  }
};

__device__ Label label_of(const float4& p) {
  Label label;
  label.radius = p.w;
  return label;
}

// The visits of a set, with Lanes threads for each cell (1, 2, 4 or 8), each of which has a share
// of the neighbors, K of them in registers, for Calls calls of the random number generator at a
// time.
template <int D, Contact C, int K, int Calls, int Lanes = 1>
struct VisitTogether {
  static constexpr unsigned kWarp = ~0u;
  static constexpr int kMoves = Calls * kMovesPerCall<D>;
  using T = Tile<D, C>;

  static __device__ bool all_of_group(bool mine) {
    if constexpr (Lanes == 1) return mine;
    constexpr unsigned kGroup = (1u << Lanes) - 1;
    const int shift = threadIdx.x % 32 & ~(Lanes - 1);
    return (__ballot_sync(kWarp, mine) >> shift & kGroup) == kGroup;
  }

  // Whether the particle at p + u is apart from those of its neighbors that are this thread's,
  // exactly.
  static __device__ __noinline__ bool exactly_free(const T& tile, std::uint32_t self, float4 r,
                                                   const std::uint16_t* list, int listed) {
    for (int k = 0; k < listed; ++k) {
      const std::uint32_t j = list[k * blockDim.x];
      const float4 q = tile.spheres[j];
      if (!apart<C>(tile.law, tile.id(self), tile.id(j), q.x - r.x, q.y - r.y, q.z - r.z))
        return false;
    }
    return true;
  }
  // The same without a list, for a particle with more neighbors than it holds.
  static __device__ __noinline__ bool exactly_free(const T& tile, std::uint32_t self, float4 r,
                                                   const int* cell) {
    bool free = true;
    tile.for_runs(cell, [&](std::uint32_t begin, std::uint32_t end) {
      for (std::uint32_t j = begin + threadIdx.x % Lanes; j < end; j += Lanes) {
        const float4 q = tile.spheres[j];
        if (j != self &&
            !apart<C>(tile.law, tile.id(self), tile.id(j), q.x - r.x, q.y - r.y, q.z - r.z))
          free = false;
      }
    });
    return free;
  }

  // `real`: this cell is not just there to fill the warp.
  static __device__ int visit(const T& tile, std::uint64_t cycle, int round, const int cell[3],
                              std::uint16_t* list, int room, bool real) {
    const Geometry& g = tile.g;
    const Law& law = tile.law;
    const int index = local_index<D>(tile.bounds, cell);
    const std::uint32_t where = tile.where + static_cast<std::uint32_t>(index);
    std::uint32_t self = tile.first[index];
    float low[3], high[3];
    int accepted = 0;
#pragma unroll 1
    for (int made = 0; made < g.moves_per_cell; made += kMoves) {
      float by[kMoves][D], up[D], down[D];
#pragma unroll
      for (int a = 0; a < D; ++a) up[a] = down[a] = 0;
#pragma unroll
      for (int call = 0; call < Calls; ++call) {
        std::uint32_t word[4];
        random_words(word, g, where, cycle, Purpose::displacement, round,
                     made / kMovesPerCall<D> + call);
        if (call == 0 && made == 0)
          self += uniform_below(word[3], tile.first[index + 1] - tile.first[index]);
#pragma unroll
        for (int m = 0; m < kMovesPerCall<D>; ++m) {
          float* const mine = by[call * kMovesPerCall<D> + m];
          displacements<D>(word, m, g.step, mine);
#pragma unroll
          for (int a = 0; a < D; ++a) {
            up[a] += fmaxf(mine[a], 0.0f);
            down[a] -= fminf(mine[a], 0.0f);
          }
        }
      }

      // The way leads at most as far as the sums of the moves to either side, within the cell.
      const float4 p = tile.spheres[self];
      const float start[3] = {p.x, p.y, p.z};
      float reach2 = 0;
#pragma unroll
      for (int a = 0; a < D; ++a) {
        const float center = cell_center(g, tile.bounds, a, cell[a]);
        low[a] = center - g.half[a] - start[a];
        high[a] = center + g.half[a] - start[a];
        const float most = fmaxf(fminf(up[a], high[a]), fminf(down[a], -low[a]));
        reach2 = fmaf(most, most, reach2);
      }
      const float reach = sqrtf(reach2) * (1 + 4e-6f) + 4e-6f * law.largest;

      int listed = 0;
      tile.for_runs(cell, [&](std::uint32_t begin, std::uint32_t end) {
        for (std::uint32_t j = begin + threadIdx.x % Lanes; j < end; j += Lanes) {
          const float4 q = tile.spheres[j];
          const float dx = q.x - p.x, dy = q.y - p.y, dz = q.z - p.z;
          const float square = fmaf(dx, dx, fmaf(dy, dy, D == 3 ? dz * dz : 0.0f));
          const float far = sigma_of<C>(law, label_of(p), label_of(q)) + reach;
          if (square < far * far && j != self) {
            if (listed < room) list[listed * blockDim.x] = static_cast<std::uint16_t>(j);
            ++listed;
          }
        }
      });
      const bool overflow = listed > room;
      if (overflow) listed = room;

      float x[K], y[K], z[K], gap[K];
      const auto take = [&](int k, float& x, float& y, float& z, float& gap) {
        const float4 q = tile.spheres[list[k * blockDim.x]];
        x = q.x - p.x;
        y = q.y - p.y;
        z = q.z - p.z;
        const float sigma = sigma_of<C>(law, label_of(p), label_of(q));
        gap = fmaf(x, x, fmaf(y, y, D == 3 ? z * z : 0.0f)) - sigma * sigma;
      };
#pragma unroll
      for (int k = 0; k < K; ++k) {
        x[k] = y[k] = z[k] = 0;
        gap[k] = 1e30f;
        if (k < listed) take(k, x[k], y[k], z[k], gap[k]);
      }

      float u[3] = {0, 0, 0};
#pragma unroll
      for (int m = 0; m < kMoves; ++m) {
        float to[3] = {0, 0, 0};
        bool inside = made + m < g.moves_per_cell;
        float square = 0;
#pragma unroll
        for (int a = 0; a < D; ++a) {
          to[a] = u[a] + by[m][a];
          inside = inside && to[a] > low[a] && to[a] < high[a];
          square = fmaf(to[a], to[a], square);
        }
        const float ax = -2 * to[0], ay = -2 * to[1], az = -2 * to[2];
        const auto term = [&](float x, float y, float z, float gap) {
          const float t = fmaf(x, ax, fmaf(y, ay, gap));
          return D == 3 ? fmaf(z, az, t) : t;
        };
        float even = 1e30f, odd = 1e30f;
#pragma unroll
        for (int k = 0; k < K; ++k) {
          float& least = k % 2 ? odd : even;
          least = fminf(least, term(x[k], y[k], z[k], gap[k]));
        }
        for (int k = K; k < listed; ++k) {
          float x, y, z, gap;
          take(k, x, y, z, gap);
          even = fminf(even, term(x, y, z, gap));
        }
        const float least = fminf(even, odd) + square;
        bool free = least > law.margin, perhaps = least >= -law.margin;
        const float4 r = make_float4(p.x + to[0], p.y + to[1], p.z + to[2], 0.0f);
        if (overflow && inside && real) free = perhaps = exactly_free(tile, self, r, cell);
        const bool mine = free;
        free = all_of_group(mine);
        perhaps = all_of_group(perhaps);
        bool ask = inside && real && perhaps && !free;
        if (Lanes > 1 ? __any_sync(kWarp, ask) : ask) {
          const bool exactly = mine || (ask && exactly_free(tile, self, r, list, listed));
          free = all_of_group(exactly);
        }
        if (inside && free) {
#pragma unroll
          for (int a = 0; a < D; ++a) u[a] = to[a];
          ++accepted;
        }
      }
      if (Lanes > 1) __syncwarp();
      if (real && threadIdx.x % Lanes == 0) {
        tile.spheres[self].x = p.x + u[0];
        tile.spheres[self].y = p.y + u[1];
        if (D == 3) tile.spheres[self].z = p.z + u[2];
      }
      if (Lanes > 1) __syncwarp();
    }
    return real && threadIdx.x % Lanes == 0 ? accepted : 0;
  }

  // Returns the accepted moves.
  static __device__ int visit_set(const T& tile, std::uint64_t cycle, int round,
                                  const std::uint16_t* cells, int members, std::uint16_t* lists,
                                  int room) {
    constexpr int kCells = 32 / Lanes;  // of a warp
    int accepted = 0;
    for (int i = threadIdx.x / Lanes; (Lanes > 1 ? i & -kCells : i) < members;
         i += blockDim.x / Lanes) {
      const bool real = i < members;
      const std::uint32_t entry = cells[real ? i : i & -kCells];
      const int cell[3] = {static_cast<int>(entry & 31u), static_cast<int>(entry >> 5 & 31u),
                           static_cast<int>(entry >> 10)};
      accepted += visit(tile, cycle, round, cell, lists + threadIdx.x, room, real);
    }
    return accepted;
  }
};

template <int D, Contact C, int K, int Calls>
using VisitAlone = VisitTogether<D, C, K, Calls, 1>;

}  // namespace
}  // namespace manymove::hard_particles::spheres
