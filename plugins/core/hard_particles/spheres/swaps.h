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
};

// The particle of an active cell that takes part, and the largest diameter that its neighbors allow
// it. A cell without particles has none.
inline constexpr std::uint32_t kNobody = 0xffffffffu;
struct Swapper {
  double room;
  std::uint32_t id;
};

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

// Who takes part from the active cell `at` of a tile, and its room, with the diameters as they are.
template <int D>
MM_HD Swapper swapper_of(const Geometry& g, const TileBounds& b, int tile, const int at[3],
                         std::uint64_t cycle, const Sphere* spheres, const std::uint32_t* counts,
                         const double* diameters) {
  int cell[3] = {0, 0, 0};
  MM_UNROLL
  for (int a = 0; a < D; ++a) cell[a] = b.first[a] + at[a];
  const std::int64_t here =
      (static_cast<std::int64_t>(cell[2]) * g.cells[1] + cell[1]) * g.cells[0] + cell[0];
  const std::uint32_t n = counts[here];
  Swapper mine{0, kNobody};
  if (n == 0) return mine;
  std::uint32_t word[4];
  random_words(word, g,
               static_cast<std::uint32_t>(tile) * static_cast<std::uint32_t>(g.plane) +
                   static_cast<std::uint32_t>(local_index<D>(b, at)),
               cycle, Purpose::swap, 0, 0);
  const std::uint32_t slot = uniform_below(word[0], n);
  const Sphere p = spheres[here * g.slots + slot];
  mine.id = p.id;
  mine.room = 1e30;
  const auto along = [&](int axis, int by) {
    const int there = cell[axis] + by;
    return there < 0 ? there + g.cells[axis] : there >= g.cells[axis] ? 0 : there;
  };
  for (int k = D == 3 ? -1 : 0; k <= (D == 3 ? 1 : 0); ++k)
    for (int j = -1; j <= 1; ++j)
      for (int i = -1; i <= 1; ++i) {
        const std::int64_t there =
            (static_cast<std::int64_t>(D == 3 ? along(2, k) : 0) * g.cells[1] + along(1, j)) *
                g.cells[0] +
            along(0, i);
        const std::uint32_t others = counts[there];
        for (std::uint32_t s = 0; s < others; ++s) {
          const Sphere q = spheres[there * g.slots + s];
          if (q.id == p.id) continue;
          const auto x = static_cast<double>(q.x - p.x + 2.0f * g.half[0] * static_cast<float>(i)),
                     y = static_cast<double>(q.y - p.y + 2.0f * g.half[1] * static_cast<float>(j)),
                     z = D == 3 ? static_cast<double>(q.z - p.z +
                                                      2.0f * g.half[2] * static_cast<float>(k))
                                : 0.0;
          const double room = 2 * square_root(x * x + y * y + z * z) - diameters[q.id];
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

template <class T>
MM_HD void exchange(T& a, T& b) {
  const T c = a;
  a = b;
  b = c;
}

}  // namespace manymove::hard_particles::spheres
