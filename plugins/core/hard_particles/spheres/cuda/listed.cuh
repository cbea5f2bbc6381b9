// SPDX-License-Identifier: BSD-3-Clause
// Visits with neighbor lists that last: made once for all active particles of a tile and made again
// only when too many particles have strayed.
//
// A particle's list holds all others that were closer than the contact distance plus the skin S
// when the lists were made. While it stays within the range a of where it was then, and the others
// within S - a, no particle that its list lacks can touch it. A particle that has gone farther than
// S - a is a stray: strays are few, known to the whole block, and looked at in addition to the list.
// A trial position beyond the range is compared with all particles of the cells around. So every
// decision is exact, whatever the skin and the range.
#pragma once

#include "visit.cuh"

namespace manymove::hard_particles::spheres {
namespace {

// The lists of a tile in shared memory: a row for each particle of an active cell.
struct Lists {
  std::uint16_t* near;    // [rows][K]; those that are not used name the dummy
  std::uint32_t* owner;   // [rows]: the particle, and its cell from bit 16 on
  std::uint32_t* home;    // [rows]: where the particle was, ten bits a coordinate, and flags
  std::uint16_t* strays;  // [kStrays + cells of a set]
  int* stray_count;
  int rows;                // one more has no neighbors and no home
  std::uint32_t dummy;     // a particle out of reach of all
  float skin, range;       // S and a
};
constexpr int kStrays = 32;  // the most that a visit looks at
constexpr std::uint32_t kIsStray = 1u << 31, kNoList = 1u << 30;

__device__ void cell_of_entry(std::uint32_t entry, int cell[3]) {
  cell[0] = static_cast<int>(entry & 31u);
  cell[1] = static_cast<int>(entry >> 5 & 31u);
  cell[2] = static_cast<int>(entry >> 10 & 31u);
}

template <int D, Contact C, int K, int Lanes = 1, bool Ahead = true>
struct VisitListed {
  static constexpr unsigned kWarp = ~0u;
  static constexpr int kMine = K / Lanes;
  static_assert(kMine * Lanes == K && kMine % 2 == 0 && K % 4 == 0);
  using T = Tile<D, C>;

  static __device__ bool all_of_group(bool mine) {
    if constexpr (Lanes == 1) return mine;
    constexpr unsigned kGroup = (1u << Lanes) - 1;
    const int shift = threadIdx.x % 32 & ~(Lanes - 1);
    return (__ballot_sync(kWarp, mine) >> shift & kGroup) == kGroup;
  }

  // Coordinates of the places in `home`: 1024 to the width of a cell.
  static __device__ std::uint32_t pack(const Geometry& g, const float r[3]) {
    std::uint32_t home = 0;
#pragma unroll
    for (int a = 0; a < D; ++a)
      home |= static_cast<std::uint32_t>(min(1023, max(0, __float2int_rd((r[a] / g.half[a] + 1) * 512))))
              << (10 * a);
    return home;
  }
  static __device__ float unpack(const Geometry& g, std::uint32_t home, int a) {
    return (static_cast<float>(home >> (10 * a) & 1023u) * (1.0f / 512) - (1 - 1.0f / 1024)) *
           g.half[a];
  }
  // How far from its home a particle may go, less what pack() and floats round; squared.
  static __device__ float square_within(const Geometry& g, float distance) {
    const float widest = fmaxf(g.half[0], fmaxf(g.half[1], D == 3 ? g.half[2] : 0.0f));
    const float range = distance - widest * (1.8f / 1024);
    return range > 0 ? range * range : 0.0f;
  }

  static __device__ void load_names(const std::uint16_t* from, std::uint32_t to[kMine / 2]) {
#pragma unroll
    for (int k = 0; k < kMine / 2; k += kMine % 8 == 0 ? 4 : kMine % 4 == 0 ? 2 : 1) {
      if constexpr (kMine % 8 == 0) {
        const uint4 four = *reinterpret_cast<const uint4*>(from + 2 * k);
        to[k] = four.x, to[k + 1] = four.y, to[k + 2] = four.z, to[k + 3] = four.w;
      } else if constexpr (kMine % 4 == 0) {
        const uint2 two = *reinterpret_cast<const uint2*>(from + 2 * k);
        to[k] = two.x, to[k + 1] = two.y;
      } else {
        to[k] = *reinterpret_cast<const std::uint32_t*>(from + 2 * k);
      }
    }
  }

  static __device__ void make_lists(const T& tile, const Lists& l, int used) {
    for (int row = threadIdx.x; row < used; row += blockDim.x) {
      const std::uint32_t owner = l.owner[row], self = owner & 0xffffu;
      int cell[3];
      cell_of_entry(owner >> 16, cell);
      const float4 p = tile.spheres[self];
      std::uint16_t* const mine = l.near + row * K;
      int listed = 0;
      const auto look = [&](std::uint32_t j, const float4& q, bool real) {
        const float dx = q.x - p.x, dy = q.y - p.y, dz = q.z - p.z;
        const float square = fmaf(dx, dx, fmaf(dy, dy, D == 3 ? dz * dz : 0.0f));
        const float far = sigma_of<C>(tile.law, label_of(p), label_of(q)) + l.skin;
        if (real && square < far * far && j != self) {
          if (listed < K) mine[listed] = static_cast<std::uint16_t>(j);
          ++listed;
        }
      };
      const int columns = tile.bounds.size[0] + 1, layers = columns * (tile.bounds.size[1] + 1);
      const int corner = local_index<D>(tile.bounds, cell) - 1 - columns - (D == 3 ? layers : 0);
#pragma unroll 1
      for (int z = 0; z < (D == 3 ? 3 : 1); ++z)
#pragma unroll 1
        for (int y = 0; y < 3; ++y) {
          const std::uint32_t* const f = tile.first + corner + z * layers + y * columns;
          const std::uint32_t end = f[3];
#pragma unroll 1
          for (std::uint32_t j = f[0]; j < end; j += 2) {
            const std::uint32_t next = j + 1 < end ? j + 1 : j;
            const float4 q = tile.spheres[j], r = tile.spheres[next];
            look(j, q, true);
            look(next, r, next > j);
          }
        }
      for (int k = listed; k < K; ++k) mine[k] = static_cast<std::uint16_t>(l.dummy);
      const float from[3] = {p.x - cell_center(tile.g, tile.bounds, 0, cell[0]),
                             p.y - cell_center(tile.g, tile.bounds, 1, cell[1]),
                             D == 3 ? p.z - cell_center(tile.g, tile.bounds, 2, cell[2]) : 0.0f};
      l.home[row] = pack(tile.g, from) | (listed > K ? kNoList : 0u);
    }
    for (int k = threadIdx.x; k < K; k += blockDim.x)
      l.near[l.rows * K + k] = static_cast<std::uint16_t>(l.dummy);
    if (threadIdx.x == 0) l.home[l.rows] = kNoList | kIsStray;
    const int room = kStrays + set_cells(tile.g, D);
    for (int i = threadIdx.x; i < room; i += blockDim.x)
      l.strays[i] = static_cast<std::uint16_t>(l.dummy);
    if (threadIdx.x == 0) *l.stray_count = 0;
    __syncthreads();
  }

  // Whether the particle that a thread asks about, at r, is apart from all particles around it,
  // exactly. All threads of the warp look, at a cell each, for one after the other that asks.
  static __device__ __noinline__ bool exactly_free(const T& tile, bool ask, std::uint32_t self,
                                                   float4 r, int corner) {
    const int columns = tile.bounds.size[0] + 1, layers = columns * (tile.bounds.size[1] + 1);
    const int lane = threadIdx.x % 32;
    std::uint32_t asking = __ballot_sync(kWarp, ask && lane % Lanes == 0);
    bool free = false;
#pragma unroll 1
    while (asking) {
      const int who = __ffs(static_cast<int>(asking)) - 1;
      asking &= asking - 1;
      const auto me = __shfl_sync(kWarp, self, who);
      const int base = __shfl_sync(kWarp, corner, who);
      const float x = __shfl_sync(kWarp, r.x, who), y = __shfl_sync(kWarp, r.y, who),
                  z = __shfl_sync(kWarp, r.z, who);
      Label mine;
      mine.radius = __shfl_sync(kWarp, r.w, who);
      bool overlap = false;
      for (int t = lane; t < (D == 3 ? 27 : 9); t += 32) {
        const int at = base + t % 3 + t / 3 % 3 * columns + t / 9 * layers;
        const std::uint32_t end = tile.first[at + 1];
#pragma unroll 1
        for (std::uint32_t j = tile.first[at]; j < end; ++j) {
          const float4 q = tile.spheres[j];
          const float dx = q.x - x, dy = q.y - y, dz = D == 3 ? q.z - z : 0.0f;
          const float sigma = sigma_of<C>(tile.law, mine, label_of(q));
          const float gap = fmaf(dx, dx, fmaf(dy, dy, fmaf(dz, dz, -sigma * sigma)));
          if (gap <= tile.law.margin && j != me)
            overlap = overlap || gap < -tile.law.margin ||
                      !apart<C>(tile.law, tile.id(me), tile.id(j), dx, dy, dz);
        }
      }
      const bool any = __any_sync(kWarp, overlap);
      if (lane / Lanes == who / Lanes) free = !any;
    }
    return free;
  }

  // `real`: this cell is not just there to fill the warp. `full`: set if strays are too many.
  static __device__ int visit(const T& tile, const Lists& l, std::uint64_t cycle, int round,
                              std::uint32_t entry, bool rows, bool real, int most_strays,
                              bool& full) {
    const Geometry& g = tile.g;
    const Law& law = tile.law;
    int cell[3];
    cell_of_entry(entry, cell);
    const int index = local_index<D>(tile.bounds, cell);
    const int corner = index - 1 - (tile.bounds.size[0] + 1) *
                                       (1 + (D == 3 ? tile.bounds.size[1] + 1 : 0));
    const std::uint32_t where = tile.where + static_cast<std::uint32_t>(index);
    const std::uint32_t begin = tile.first[index], row0 = entry >> 15;

    std::uint32_t word[4];
    random_words(word, g, where, cycle, Purpose::displacement, round, 0);
    const std::uint32_t chosen = uniform_below(word[3], tile.first[index + 1] - begin);
    const std::uint32_t self = begin + chosen;
    const float4 p = tile.spheres[self];
    const std::uint32_t row = rows ? row0 + chosen : static_cast<std::uint32_t>(l.rows);
    const std::uint32_t home = l.home[row];
    const float limit = home & kNoList ? -1.0f : square_within(g, l.range);

    float x[kMine], y[kMine], z[kMine], gap[kMine];
    std::uint32_t near[kMine / 2];
    load_names(l.near + row * K + threadIdx.x % Lanes * kMine, near);
#pragma unroll
    for (int k = 0; k < kMine; ++k) {
      const float4 q = tile.spheres[k % 2 ? near[k / 2] >> 16 : near[k / 2] & 0xffffu];
      x[k] = q.x - p.x;
      y[k] = q.y - p.y;
      z[k] = q.z - p.z;
      const float sigma = sigma_of<C>(law, label_of(p), label_of(q));
      gap[k] = fmaf(x[k], x[k], fmaf(y[k], y[k], D == 3 ? z[k] * z[k] : 0.0f)) - sigma * sigma;
    }

    const float start[3] = {p.x, p.y, p.z};
    float low[D], high[D], away[D];  // from its start to the cell's faces, from its home to there
#pragma unroll
    for (int a = 0; a < D; ++a) {
      const float center = cell_center(g, tile.bounds, a, cell[a]);
      low[a] = center - g.half[a] - start[a];
      high[a] = center + g.half[a] - start[a];
      away[a] = start[a] - center - unpack(g, home, a);
    }

    // Whether it can meet a stray that its list lacks as long as it is in its range.
    bool strays = false;
    const int counted = *static_cast<volatile int*>(l.stray_count);
    const int strayed = min(counted, kStrays);
#pragma unroll 4
    for (int n = 0; n < strayed; ++n) {
      const std::uint32_t j = l.strays[n];
      const float4 q = tile.spheres[j];
      const float dx = q.x - p.x + away[0], dy = q.y - p.y + away[1],
                  dz = D == 3 ? q.z - p.z + away[D - 1] : 0.0f;
      const float far = sigma_of<C>(law, label_of(p), label_of(q)) + l.range;
      if (fmaf(dx, dx, fmaf(dy, dy, dz * dz)) < far * far && j != self) {
        bool known = false;
        const auto* const names = reinterpret_cast<const std::uint32_t*>(l.near + row * K);
#pragma unroll
        for (int k = 0; k < K / 2; ++k)
          known = known || (names[k] & 0xffffu) == j || names[k] >> 16 == j;
        strays = strays || !known;
      }
    }

    float u[D];
#pragma unroll
    for (int a = 0; a < D; ++a) u[a] = 0;
    int accepted = 0;
#pragma unroll 1
    for (int made = 0; made < g.moves_per_cell; made += kMovesPerCall<D>) {
      if (!Ahead && made > 0)
        random_words(word, g, where, cycle, Purpose::displacement, round,
                     made / kMovesPerCall<D>);
      float by[kMovesPerCall<D>][D];
#pragma unroll
      for (int m = 0; m < kMovesPerCall<D>; ++m) displacements<D>(word, m, g.step, by[m]);
      // The next call's words are on their way while these moves are tried.
      if constexpr (Ahead)
        random_words(word, g, where, cycle, Purpose::displacement, round,
                     made / kMovesPerCall<D> + 1);
#pragma unroll
      for (int m = 0; m < kMovesPerCall<D>; ++m) {
        float to[3] = {0, 0, 0};
        bool inside = made + m < g.moves_per_cell;
        float square = 0, from_home = 0;
#pragma unroll
        for (int a = 0; a < D; ++a) {
          to[a] = u[a] + by[m][a];
          inside = inside && to[a] > low[a] && to[a] < high[a];
          square = fmaf(to[a], to[a], square);
          const float v = to[a] + away[a];
          from_home = fmaf(v, v, from_home);
        }
        const float ax = -2 * to[0], ay = -2 * to[1], az = -2 * to[2];
        const auto term = [&](float x, float y, float z, float gap) {
          const float t = fmaf(x, ax, fmaf(y, ay, gap));
          return D == 3 ? fmaf(z, az, t) : t;
        };
        float even = 1e30f, odd = 1e30f;
#pragma unroll
        for (int k = 0; k < kMine; ++k) {
          float& least = k % 2 ? odd : even;
          least = fminf(least, term(x[k], y[k], z[k], gap[k]));
        }
        const float least = fminf(even, odd) + square;
        bool free = all_of_group(least > law.margin);
        bool ask = !free && all_of_group(least >= -law.margin);
        // Beyond its range, and where a stray is near, the list says nothing but "overlap".
        if (free && (from_home > limit || strays)) ask = true;
        ask = ask && inside && real;
        if (__any_sync(kWarp, ask)) {
          const bool exactly = exactly_free(
              tile, ask, self, make_float4(p.x + to[0], p.y + to[1], p.z + to[2], p.w), corner);
          if (ask) free = exactly;
        }
        if (inside && free) {
#pragma unroll
          for (int a = 0; a < D; ++a) u[a] = to[a];
          ++accepted;
        }
      }
    }
    if (!real || threadIdx.x % Lanes != 0) return 0;
    if (accepted) {
      float from_home = 0;
#pragma unroll
      for (int a = 0; a < D; ++a) {
        const float v = u[a] + away[a];
        from_home = fmaf(v, v, from_home);
      }
      tile.spheres[self].x = p.x + u[0];
      tile.spheres[self].y = p.y + u[1];
      if (D == 3) tile.spheres[self].z = p.z + u[D - 1];
      if (from_home > square_within(g, l.skin - l.range) && !(home & kIsStray)) {
        l.home[row] = home | kIsStray;
        const int n = atomicAdd(l.stray_count, 1);
        l.strays[n] = static_cast<std::uint16_t>(self);
        if (n + 1 > most_strays) full = true;
      }
    }
    return accepted;
  }

  // Returns the accepted moves.
  static __device__ int visit_set(const T& tile, const Lists& l, std::uint64_t cycle, int round,
                                  const std::uint32_t* cells, int members, bool rows,
                                  int most_strays, bool& full) {
    constexpr int kCells = 32 / Lanes;  // of a warp
    int accepted = 0;
#pragma unroll 1
    for (int i = threadIdx.x / Lanes; (i & -kCells) < members;
         i += blockDim.x / Lanes) {
      const bool real = i < members;
      accepted += visit(tile, l, cycle, round, cells[real ? i : i & -kCells], rows, real,
                        most_strays, full);
    }
    return accepted;
  }
};

}  // namespace
}  // namespace manymove::hard_particles::spheres
