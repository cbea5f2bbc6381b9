// SPDX-License-Identifier: BSD-3-Clause
// Visits of the cells of a set on a GPU that is not filled by the tiles.
#pragma once

#include "visit.cuh"

namespace manymove::hard_particles::spheres {
namespace {

// The visits of a set where tiles are few and latency counts: the Lanes threads of a cell look for
// neighbors together and then make a move each, from the same place, of which the first that is
// accepted counts; the moves after it are made again from the new place. The decisions are those of
// one move after the other. K neighbors are in the registers of each thread.
template <int D, Contact C, int K, int Lanes, int Runs, int AtOnce = 8 / Lanes>
struct VisitAhead {
  static constexpr unsigned kWarp = ~0u, kGroup = (1u << Lanes) - 1;
  static constexpr float kNone = 1e30f, kFar = 1e38f;                     // squares beyond all
  static constexpr int kMine = kMovesPerCall<D>, kMoves = kMine * Lanes;  // drawn at once
  static constexpr int kRuns = D == 3 ? 9 : 3;
  // Neighbors that the threads of a cell have room to list, for each thread.
  static constexpr int kRoom = ((C == Contact::one_size ? 32 : 56) / Lanes + 5) / 4 * 4 + 2;
  static_assert(Lanes > 1 && K % 2 == 0 && kRuns % Runs == 0);
  using T = Tile<D, C>;

  // Whether the particle at r is apart from all of its neighbors, exactly. A list that is too short
  // for them is not asked.
  static __device__ __noinline__ bool exactly_free(const T& tile, std::uint32_t self, float4 r,
                                                   int cell, const std::uint16_t* list, int listed,
                                                   int room) {
    bool free = true;
    const auto look = [&](std::uint32_t j) {
      if (j != self && !tile.is_apart(self, j, r)) free = false;
    };
    if (listed <= room)
      for (int k = 0; k < listed; ++k) look(list[k]);
    else
      for (int row = 0; row < kRuns; ++row) {
        const auto [begin, end] = tile.run(cell, row);
        for (std::uint32_t j = begin; j < end; ++j) look(j);
      }
    return free;
  }

  // Lists the particles closer than the contact distance plus `reach`, all threads of a cell in one
  // list; returns how many there are, of which those beyond `room` are not listed.
  static __device__ int list_neighbors(const T& tile, int cell, std::uint32_t self, const float4& p,
                                       float reach, std::uint16_t* list, int room) {
    const int lane = threadIdx.x % Lanes, shift = threadIdx.x % 32 - lane;
    const float largest = tile.scale.largest;
    int listed = 0;
    const auto look = [&](std::uint32_t j, const float4& q) {
      const float dx = q.x - p.x, dy = q.y - p.y, dz = q.z - p.z;
      const float square = fmaf(dx, dx, fmaf(dy, dy, D == 3 ? dz * dz : 0.0f));
      const float far = (C == Contact::one_size ? largest : tile.sigma(p, q)) + reach;
      const bool near = square < far * far && j != self;
      const unsigned all = __ballot_sync(kWarp, near) >> shift & kGroup;
      const int to = listed + __popc(all & ((1u << lane) - 1));
      if (near && to < room) list[to] = static_cast<std::uint16_t>(j);
      listed += __popc(all);
    };
#pragma unroll 1
    for (int row = 0; row < kRuns; row += Runs) {
      std::uint32_t name[Runs][AtOnce];
      float4 q[Runs][AtOnce];
      bool more = false;
#pragma unroll
      for (int r = 0; r < Runs; ++r) {
        const auto [begin, end] = tile.run(cell, row + r);
#pragma unroll
        for (int k = 0; k < AtOnce; ++k) {
          const std::uint32_t j = begin + lane + k * Lanes;
          name[r][k] = j < end ? j : self;
        }
        more = more || begin + AtOnce * Lanes < end;
      }
#pragma unroll
      for (int r = 0; r < Runs; ++r)
#pragma unroll
        for (int k = 0; k < AtOnce; ++k) q[r][k] = tile.spheres[name[r][k]];
#pragma unroll
      for (int r = 0; r < Runs; ++r)
#pragma unroll
        for (int k = 0; k < AtOnce; ++k) look(name[r][k], q[r][k]);
      if (!__any_sync(kWarp, more)) continue;
#pragma unroll 1
      for (int r = 0; r < Runs; ++r) {
        const auto [begin, end] = tile.run(cell, row + r);
#pragma unroll 1
        for (std::uint32_t j = begin + AtOnce * Lanes; __any_sync(kWarp, j < end); j += Lanes) {
          const std::uint32_t its = j + lane < end ? j + lane : self;
          look(its, tile.spheres[its]);
        }
      }
    }
    __syncwarp();
    return listed;
  }

  // `entry`: the cell. `real`: it is not just there to fill the warp.
  static __device__ int visit(const T& tile, std::uint64_t cycle, int round, std::uint32_t entry,
                              const Workspace& work, bool real) {
    const Geometry& g = tile.g;
    const float largest = tile.scale.largest;
    const int at[3] = {static_cast<int>(entry & 31u), static_cast<int>(entry >> 5 & 31u),
                       static_cast<int>(entry >> 10)};
    const int cell = local_index<D>(tile.bounds, at), room = work.list * Lanes;
    const int lane = threadIdx.x % Lanes, groups = blockDim.x / Lanes;
    const int shift = threadIdx.x % 32 - lane;
    float4* const moves = work.moves + threadIdx.x / Lanes;
    std::uint16_t* const list = work.lists + threadIdx.x / Lanes * room;
    std::uint32_t self = 0;
    float4 p;
    int accepted = 0;
#pragma unroll 1
    for (int made = 0; made < g.moves_per_cell; made += kMoves) {
      // The way leads at most as far as the sums of the moves to either side, within the cell.
      float up[D], down[D];
      std::uint32_t word[4];
      random_words(word, g, tile.where + static_cast<std::uint32_t>(cell), cycle,
                   Purpose::displacement, round, made / kMovesPerCall<D> + lane);
#pragma unroll
      for (int a = 0; a < D; ++a) up[a] = down[a] = 0;
#pragma unroll
      for (int m = 0; m < kMovesPerCall<D>; ++m) {
        const int move = lane * kMovesPerCall<D> + m;
        float by[D];
        displacements<D>(word, m, tile.scale.step, by);
        moves[move * groups] = make_float4(by[0], by[1], D == 3 ? by[D - 1] : 0.0f, 0.0f);
#pragma unroll
        for (int a = 0; a < D; ++a) {
          if (made + move >= g.moves_per_cell) by[a] = 0;
          up[a] += fmaxf(by[a], 0.0f);
          down[a] -= fminf(by[a], 0.0f);
        }
      }
      if (made == 0) {
        const std::uint32_t begin = tile.first[cell], n = tile.first[cell + 1] - begin;
        self = begin + uniform_below(__shfl_sync(kWarp, word[3], shift), n);
        p = tile.spheres[self];
      }
      float middle[3], reach2 = 0;  // the cell's, from the particle
      const float start[3] = {p.x, p.y, p.z};
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
      const float reach = sqrtf(reach2) * (1 + 4e-6f) + 4e-6f * largest;
      const int listed = list_neighbors(tile, cell, self, p, reach, list, room);
      const int held = listed > room ? 0 : listed;

      float x[K], y[K], z[K], gap[K];
      const auto take = [&](std::uint32_t j, float& x, float& y, float& z, float& gap) {
        const float4 q = tile.spheres[j];
        x = q.x - p.x;
        y = q.y - p.y;
        z = q.z - p.z;
        const float sigma = C == Contact::one_size ? largest : tile.sigma(p, q);
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
      const float margin = tile.scale.margin, sure = listed > room ? 0.5f * kFar : margin;
      float half[D];
#pragma unroll
      for (int a = 0; a < D; ++a) half[a] = in_register(g.half[a]);
      float u[3] = {0, 0, 0};
      const int end = min(kMoves, g.moves_per_cell - made);
#pragma unroll 1
      for (int next = 0; __any_sync(kWarp, next < end);) {
        const int move = next + lane;
        const float4 by = moves[min(move, end - 1) * groups];
        const float to[3] = {u[0] + by.x, u[1] + by.y, u[2] + by.z};
        bool inside = move < end;
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
        if (inside && least <= sure && least >= -margin) {
          const float4 r = make_float4(p.x + to[0], p.y + to[1], p.z + to[2], 0.0f);
          least = exactly_free(tile, self, r, cell, list, listed, room) ? kFar : -kFar;
        }
        const unsigned all = __ballot_sync(kWarp, inside && least > sure) >> shift & kGroup;
        if (all == 0) {
          next += Lanes;
        } else {
          const int first = next + __ffs(static_cast<int>(all)) - 1;
          const float4 best = moves[first * groups];
          u[0] += best.x;
          u[1] += best.y;
          u[2] += best.z;
          next = first + 1;
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
