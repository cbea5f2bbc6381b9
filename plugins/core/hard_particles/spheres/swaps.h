// SPDX-License-Identifier: BSD-3-Clause
// Swap moves: exchanges of the diameters of two particles of an additive mixture. Numbers of
// sections are those of docs/theory/constant_pressure.md.
#pragma once

#include "model.h"

namespace manymove::hard_particles::spheres {

// What all tiles share in the swap moves after a cycle. Lengths in integer units.
struct SwapRules {
  std::uint64_t cycle;
  std::uint32_t order;  // of the sets, three bits each, first set lowest
  int rounds;           // of pairs, for each set
  double range;         // largest difference of diameters
  double clearance;     // of a particle from its neighbors, beyond the rounding (section 6)
  float farthest2;      // squared distance beyond which neighbors leave room for every diameter
};

// The particle of an active cell that takes part, and the largest diameter that its neighbors allow
// it. A cell without particles has none.
inline constexpr std::uint32_t kNobody = 0xffffffffu;
struct Swapper {
  double room;
  std::uint32_t id;
};

template <class T>
MM_HD void exchange(T& a, T& b) {
  const T c = a;
  a = b;
  b = c;
}

// The active cells of a set in a tile form a lattice of n[0] by n[1] (by n[2]) cells.
template <int D>
MM_HD int swap_cells(const TileBounds& b, int set, int n[3]) {
  int all = 1;
  MM_UNROLL
  for (int a = 0; a < 3; ++a) {
    n[a] = a >= D ? 1 : (set >> a & 1) ? b.size[a] / 2 : (b.size[a] - 1) / 2;
    all *= n[a];
  }
  return all;
}
template <int D>
MM_HD void swap_cell(const int n[3], int set, int k, int at[3]) {
  MM_UNROLL
  for (int a = 0; a < 3; ++a) {
    at[a] = a < D ? 2 * (k % n[a]) + ((set >> a & 1) ? 1 : 2) : 0;
    k /= n[a];
  }
}

// The slot of the particle that takes part from the active cell `at` of a tile, of n > 0 particles.
template <int D>
MM_HD std::uint32_t swapper_slot(const Geometry& g, const TileBounds& b, int tile, const int at[3],
                                 std::uint64_t cycle, std::uint32_t n) {
  std::uint32_t word[4];
  random_words(word, g,
               static_cast<std::uint32_t>(tile) * static_cast<std::uint32_t>(g.plane) +
                   static_cast<std::uint32_t>(local_index<D>(b, at)),
               cycle, Purpose::swap, 0, 0);
  return uniform_below(word[0], n);
}

// Who takes part from the active cell `at` of a tile, and its room, with the diameters as they are.
// Only particles closer than rules.farthest2 count, because beyond that distance there is room for
// every diameter. `Lanes` threads that share a swapper have a part of the neighbors each, and the
// least of their results is the room; they look at AtOnce slots of each cell at once.
template <int D, int Lanes, int AtOnce>
MM_HD Swapper swapper_of(const Geometry& g, const SwapRules& rules, const TileBounds& b, int tile,
                         const int at[3], const Sphere* spheres, const std::uint32_t* counts,
                         const double* diameters, int lane) {
  constexpr int kAround = D == 3 ? 27 : 9, kMine = (kAround + Lanes - 1) / Lanes;
  const std::int64_t here = grid_cell<D>(g, b, at);
  const std::uint32_t particles = counts[here];
  Swapper mine{1e30, kNobody};
  if (particles == 0) return mine;
  int from[kMine];
  std::uint32_t n[kMine], most = 0;
  MM_UNROLL
  for (int c = 0; c < kMine; ++c) {
    const int other = c * Lanes + lane;
    const int by[3] = {other % 3 - 1, other / 3 % 3 - 1, D == 3 ? other / 9 - 1 : 0};
    int there = 0;  // a box has at most 1e9
    MM_UNROLL
    for (int a = D - 1; a >= 0; --a) {
      int i = b.first[a] + at[a] + by[a];
      i = i < 0 ? i + g.cells[a] : i >= g.cells[a] ? 0 : i;
      there = there * g.cells[a] + i;
    }
    n[c] = other < kAround ? counts[there] : 0;
    from[c] = there;
    if (n[c] > most) most = n[c];
  }
  const Sphere p =
      spheres[here * g.slots + swapper_slot<D>(g, b, tile, at, rules.cycle, particles)];
  mine.id = p.id;
  for (std::uint32_t slot = 0; slot < most; slot += AtOnce) {
    Sphere q[kMine][AtOnce] = {};
    double diameter[kMine][AtOnce];  // negative: of none that counts
    const auto away_from_p = [&](int c, std::uint32_t k, float r[3]) {
      const int other = c * Lanes + lane;
      r[0] = q[c][k].x - p.x + 2.0f * g.half[0] * static_cast<float>(other % 3 - 1);
      r[1] = q[c][k].y - p.y + 2.0f * g.half[1] * static_cast<float>(other / 3 % 3 - 1);
      r[2] = 0;
      if (D == 3) r[2] = q[c][k].z - p.z + 2.0f * g.half[2] * static_cast<float>(other / 9 - 1);
    };
    MM_UNROLL
    for (int c = 0; c < kMine; ++c) MM_UNROLL
    for (std::uint32_t k = 0; k < AtOnce; ++k)
      if (slot + k < n[c])
        q[c][k] = spheres[static_cast<std::int64_t>(from[c]) * g.slots + slot + k];
    MM_UNROLL
    for (int c = 0; c < kMine; ++c) MM_UNROLL
    for (std::uint32_t k = 0; k < AtOnce; ++k) {
      diameter[c][k] = -1;
      if (slot + k >= n[c] || q[c][k].id == p.id) continue;
      float r[3];
      away_from_p(c, k, r);
      if (fast_fma(r[0], r[0], fast_fma(r[1], r[1], r[2] * r[2])) > rules.farthest2) continue;
      diameter[c][k] = diameters[q[c][k].id];
    }
    MM_UNROLL
    for (int c = 0; c < kMine; ++c) MM_UNROLL
    for (std::uint32_t k = 0; k < AtOnce; ++k) {
      if (diameter[c][k] < 0) continue;
      float r[3];
      away_from_p(c, k, r);
      const auto x = static_cast<double>(r[0]), y = static_cast<double>(r[1]),
                 z = static_cast<double>(r[2]);
      const double room = 2 * square_root(x * x + y * y + z * z) - diameter[c][k];
      if (room < mine.room) mine.room = room;
    }
  }
  return mine;
}

// The partner of the k-th of n cells in a round: a pairing of all cells, from one random number.
template <int D>
MM_HD int swap_offset(const Geometry& g, int tile, std::uint64_t cycle, int set, int round, int n) {
  std::uint32_t word[4];
  random_words(word, g, static_cast<std::uint32_t>(tile) * static_cast<std::uint32_t>(g.plane),
               cycle, Purpose::swap, 1 + set, round);
  return static_cast<int>(uniform_below(word[0], static_cast<std::uint32_t>(n)));
}
MM_HD int swap_partner(int offset, int k, int n) {
  return k <= offset ? offset - k : offset - k + n;
}

// Whether two particles exchange their diameters; symmetric in old and new (section 6).
MM_HD bool swaps(const SwapRules& rules, const Swapper& a, const Swapper& b, double of_a,
                 double of_b) {
  const double larger = of_a > of_b ? of_a : of_b, smaller = of_a > of_b ? of_b : of_a;
  const double room = a.room < b.room ? a.room : b.room;
  return larger - smaller <= rules.range && larger <= room - rules.clearance;
}

}  // namespace manymove::hard_particles::spheres
