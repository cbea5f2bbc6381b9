// SPDX-License-Identifier: BSD-3-Clause
// Swap moves: exchanges of the diameters of two particles of an additive mixture. Numbers of
// sections are those of docs/theory/constant_pressure.md.
#pragma once

#include "particles.h"

namespace manymove::hard_particles {

// What all tiles share in the swap moves after a cycle. Lengths in integer units.
struct SwapRules {
  std::uint64_t cycle;
  std::uint32_t order;  // of the sets, three bits each, first set lowest
  int rounds;           // of pairs, for each set
  double range;         // largest difference of diameters
  double clearance;     // of a particle from its neighbors, beyond the rounding (section 6)
  float farthest2;      // squared distance beyond which neighbors leave room for every diameter
};

// The order of the sets in the swap moves after a cycle.
MM_HD std::uint32_t swap_order(const Geometry& g, int dimensions, std::uint64_t cycle) {
  std::uint32_t word[8];
  for (int call = 0; call < 2; ++call)
    random_words(word + 4 * call, g, 0u, cycle, Purpose::swap_order, 0, call);
  return permutation<3>(1 << dimensions, word);
}

// The particle of an active cell that takes part, and the largest diameter that its neighbors allow
// it. A cell without particles has none.
inline constexpr std::uint32_t kNoParticle = 0xffffffffu;
struct SwapCandidate {
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
    // Local coordinates 1, 3, 5, ... of odd sets and 2, 4, 6, ... of even ones; 0 is frozen.
    at[a] = a < D ? 2 * (k % n[a]) + ((set >> a & 1) ? 1 : 2) : 0;
    k /= n[a];
  }
}

// The slot of the particle that takes part from the active cell `at` of a tile, of n > 0 particles.
template <int D>
MM_HD std::uint32_t candidate_slot(const Geometry& g, const TileBounds& b, int tile,
                                   const int at[3], std::uint64_t cycle, std::uint32_t n) {
  std::uint32_t word[4];
  random_words(word, g,
               static_cast<std::uint32_t>(tile) * static_cast<std::uint32_t>(g.plane) +
                   static_cast<std::uint32_t>(local_index<D>(b, at)),
               cycle, Purpose::swap, 0, 0);
  return uniform_below(word[0], n);
}

// The room that the neighbors of particle p leave it with the diameters as they are; `cell` is its
// cell in the grid. Only particles closer than rules.farthest2 count, because beyond that distance
// there is room for every diameter. `Lanes` threads that share a candidate have a part of the
// neighbors each, and the least of their results is the room.
template <int D, int Lanes>
MM_HD double room_of(const Geometry& g, const SwapRules& rules, const int cell[3], const Sphere& p,
                     const Sphere* spheres, const std::uint32_t* counts, const double* diameters,
                     int lane) {
  double room = 1e30;
  for_particles_around<D, Lanes, ((D == 3 ? 27 : 9) + Lanes - 1) / Lanes>(
      g, spheres, counts, cell, 1, 0, lane, [&](const Sphere& q, const float away[3], int, int) {
        if (q.id == p.id) return;
        const float dx = q.x - p.x + away[0], dy = q.y - p.y + away[1],
                    dz = D == 3 ? q.z - p.z + away[2] : 0.0f;
        if (fast_fma(dx, dx, fast_fma(dy, dy, dz * dz)) > rules.farthest2) return;
        // rho = min_k (2 |r_k| - sigma_k) (section 6).
        const double its = 2 * square_root(exact_square(dx, dy, dz)) - diameters[q.id];
        if (its < room) room = its;
      });
  return room;
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
MM_HD bool swaps(const SwapRules& rules, const SwapCandidate& a, const SwapCandidate& b,
                 double of_a, double of_b) {
  const double larger = of_a > of_b ? of_a : of_b, smaller = of_a > of_b ? of_b : of_a;
  const double room = a.room < b.room ? a.room : b.room;
  // Both may have the larger diameter: sigma <= min_j (2 |d_j| - sigma_j) for either (section 6).
  return larger - smaller <= rules.range && larger <= room - rules.clearance;
}

}  // namespace manymove::hard_particles
