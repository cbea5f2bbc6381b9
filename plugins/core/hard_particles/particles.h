// SPDX-License-Identifier: BSD-3-Clause
// The policy `Particles`: the grid and the laws of motion of hard spheres and of mixtures in D = 2
// or 3 dimensions, also of disks at constant pressure, the same for every backend. Why the chain is
// right, and the proofs of the bounds below: docs/theory/hard_spheres.md, to which the numbers of
// sections refer.
//
// Lengths are integers, held exactly in float32. Along axis a, a cell is 2 H_a units wide, a
// particle sits on an odd unit relative to the center of its cell, and relative to the center of
// its tile while a cycle is made; grid shifts and moves are even. So nothing rounds, no particle is
// ever on a cell's boundary, and none can be lost.
#pragma once

#include "model.h"

namespace manymove::hard_particles {

// With tiles of at most 16 cells and one more, coordinates relative to the tile's center stay below
// 17 H < 2^24.
inline constexpr int kMaxTile = 16;
inline constexpr std::int64_t kMaxHalfWidth = 986894;  // even, 17 H < 2^24
// Error of the float32 estimate of a squared distance less the squared contact distance, in squares
// of the largest contact distance or range of a step: the proven bound (section 1.3) is 1.3e-5.
inline constexpr double kEstimateError = 2e-5;

// How the contact distance of a pair follows from its particles.
enum class Contact { one_size, additive, table };

// A particle's radius (additive) or its type (table), of which contact distances are made.
union Label {
  float radius;
  std::int32_t type;
};

// A diameter in the caller's unit, in integer units: as float64 and as a label.
MM_HD double diameter_in_units(double diameter, double unit) { return diameter / unit; }
MM_HD Label radius_in_units(double diameter, double unit) {
  Label label;
  label.radius = static_cast<float>(0.5 * diameter / unit);
  return label;
}

// Contact distances in units. Arrays by particle are in the memory of the engine's device.
struct Law {
  double contact;           // one_size: sigma^2
  float largest;            // the largest sigma, or range of steps
  float margin;             // kEstimateError in units
  const double* diameters;  // additive, by particle
  const Label* labels;      // by particle
  int types;
  const double* contacts;      // table: sigma^2, [types][types]
  const float* sigmas;         // table: sigma, [types][types]
  const float* radii;          // table: null, or of types, if each sigma is the sum of two radii
  const std::uint8_t* pinned;  // null, or by particle: whether it never moves
};

// The cell grid and the laws of motion. Lengths in units of the integer grid. Axes beyond D have
// one cell.
struct Geometry {
  int cells[3];  // at least 3
  int tiles[3];
  int tile[3];         // widest tile along each axis, in cells
  int plane;           // the most cells of a tile in local storage: the product of tile + 1
  int slots;           // of a cell
  float half[3];       // H: half a cell's width
  float step;          // maximum displacement / 16383.5, eight significant bits
  int moves_per_cell;  // n_m
  int rounds;          // passes over the sets between two grid shifts
  PhiloxKey key;
  StripView part;
};

// ---- trial moves (section 1.4) ----

// A call of the generator gives the displacements of so many moves: in three dimensions of two, x
// and y from the two halves of the first or second word and z from one half of the third; in two
// dimensions of three, one word each. The fourth word of a visit's first call chooses the particle.
template <int D>
inline constexpr int kMovesPerCall = D == 3 ? 2 : 3;

template <int D>
MM_HD void displacements(const std::uint32_t word[4], int move, float step, float by[D]) {
  const std::uint32_t w = move == 0 ? word[0] : move == 1 ? word[1] : word[2];
  by[0] = displacement(w, step);
  by[1] = displacement(other_half(w), step);
  if constexpr (D == 3) by[2] = displacement(move == 0 ? word[2] : other_half(word[2]), step);
}

// Whether a particle stays where it is.
MM_HD bool is_pinned(const Law& law, std::uint32_t id) { return law.pinned && law.pinned[id]; }

// ---- contact ----

// The float32 contact distance of a pair.
template <Contact C>
MM_HD float sigma_of(const Law& law, Label a, Label b) {
  if constexpr (C == Contact::one_size)
    return law.largest;
  else if constexpr (C == Contact::additive)
    return a.radius + b.radius;
  else
    return law.sigmas[a.type * law.types + b.type];
}

// The exact squared contact distance of particles i and j, one float64.
template <Contact C>
MM_HD double contact_of(const Law& law, std::uint32_t i, std::uint32_t j) {
  if constexpr (C == Contact::one_size) {
    return law.contact;
  } else if constexpr (C == Contact::additive) {
    const double sigma = 0.5 * (law.diameters[i] + law.diameters[j]);
    return sigma * sigma;
  } else {
    return law.contacts[law.labels[i].type * law.types + law.labels[j].type];
  }
}

// The law itself (section 1.2), |r_i - r_j|^2 >= sigma_ij^2, without rounding.
template <Contact C>
MM_HD bool apart(const Law& law, std::uint32_t i, std::uint32_t j, float dx, float dy, float dz) {
  return exact_square(dx, dy, dz) >= contact_of<C>(law, i, j);
}

// ---- the float32 estimate (section 1.3) ----

// The estimate of |d - u|^2 - sigma^2 is gap_after() + |u|^2, where d is where a neighbor is and u
// where the particle is to go, both from where the particle is, and gap = |d|^2 - sigma^2. In any
// order of the axes, with and without fma, it is wrong by less than kEstimateError.
template <int D, class F>
MM_HD F squared_length(const F d[D]) {
  F square = fast_fma(d[1], d[1], d[0] * d[0]);
  if constexpr (D == 3) square = fast_fma(d[2], d[2], square);
  return square;
}

// minus_2u: the components of -2 u.
template <int D, class F>
MM_HD F gap_after(F gap, const F d[D], const F minus_2u[D]) {
  MM_UNROLL
  for (int a = 0; a < D; ++a) gap = fast_fma(d[a], minus_2u[a], gap);
  return gap;
}

// ---- a tile in local storage (sections 1.1 and 2) ----

// The cells whose particles count, from a strip's first on.
template <int D>
MM_HD std::int64_t counted_cells(const Geometry& g) {
  std::int64_t cells = g.part.whole > 0 ? g.part.rows : g.cells[D - 1];
  MM_UNROLL
  for (int a = 0; a < D - 1; ++a) cells *= g.cells[a];
  return cells;
}

// Cells of a tile along an axis in local storage, the far border included.
template <int D>
MM_HD int local_cells(const TileBounds& b, int axis) {
  return axis < D ? b.size[axis] + 1 : 1;
}

// The center of a local cell relative to the tile's center.
MM_HD float cell_center(const Geometry& g, const TileBounds& b, int axis, int cell) {
  return static_cast<float>(2 * cell - b.size[axis]) * g.half[axis];
}

// The index of a cell of the whole grid that is `at` cells from the tile's first.
template <int D>
MM_HD std::int64_t grid_cell(const Geometry& g, const TileBounds& b, const int at[3]) {
  int cell = 0;  // a box has at most 1e9
  MM_UNROLL
  for (int a = D - 1; a >= 0; --a) cell = cell * g.cells[a] + b.first[a] + at[a];
  return cell;
}

// The coordinates of the cell with this index.
MM_HD void cell_at(const Geometry& g, std::int64_t index, int cell[3]) {
  const std::int64_t layer = std::int64_t{g.cells[0]} * g.cells[1];
  const auto in_layer = static_cast<int>(index % layer);
  cell[0] = in_layer % g.cells[0];
  cell[1] = in_layer / g.cells[0];
  cell[2] = static_cast<int>(index / layer);
}

// The old cell that lies `at` cells from the old place of a tile's first cell.
template <int D>
MM_HD std::int64_t old_cell(const Geometry& g, const Draw& d, const TileBounds& b,
                            const int at[3]) {
  int cell = 0;
  MM_UNROLL
  for (int a = D - 1; a >= 0; --a) {
    int i = b.first[a] + d.shift_cells[a] + at[a];  // at most twice the cells
    if (i >= g.cells[a]) i -= g.cells[a];
    if (i >= g.cells[a]) i -= g.cells[a];
    cell = cell * g.cells[a] + i;
  }
  return cell;
}

// Where a particle of an old cell lands: along each axis in the local cell with the old cell's
// index or in the one before. Nothing rounds, so that it lands in one cell and only one.
template <int D>
struct Landing {
  float r[3];   // relative to the tile's center
  int cell[3];  // local; from -1 to size + 1, of which 0 to size are the tile's
  bool here;    // whether that is so
};

template <int D>
MM_HD Landing<D> land(const Geometry& g, const Draw& d, const TileBounds& b, const Sphere& s,
                      const int at[3]) {
  Landing<D> l;
  l.here = true;
  const float from[3] = {s.x, s.y, s.z};
  MM_UNROLL
  for (int a = 0; a < 3; ++a) {
    l.r[a] = 0;
    l.cell[a] = 0;
    if (a >= D) continue;
    // In the shifted grid r' = r - shift; below -H the particle is in the cell before.
    const float x = from[a] - d.shift_rest[a];
    const int before = x < -g.half[a];
    l.cell[a] = at[a] - before;
    // From the cell's center to the tile's, a multiple of H: exact.
    l.r[a] = x + cell_center(g, b, a, at[a]);
    l.here = l.here && l.cell[a] >= 0 && l.cell[a] <= b.size[a];
  }
  return l;
}

template <int D>
MM_HD int local_index(const TileBounds& b, const int cell[3]) {
  const int row = cell[0] + (b.size[0] + 1) * cell[1];
  return D == 2 ? row : row + (b.size[0] + 1) * (b.size[1] + 1) * cell[2];
}

// The checkerboard set of an active cell. Two cells of a set have a layer of others between them
// along some axis, in one tile or in two (section 3, step 4).
template <int D>
MM_HD int set_of(const int cell[3]) {
  return (cell[0] & 1) | (cell[1] & 1) << 1 | (D == 3 ? (cell[2] & 1) << 2 : 0);
}

// ---- what the host draws for a cycle (sections 2 and 3) ----

// The shift of the grid, uniform over the box, and the order of the sets in each round.
template <int D>
Draw draw_cycle(const Geometry& g, std::uint64_t cycle) {
  Draw d{};
  d.cycle = cycle;
  for (int a = 0; a < D; ++a) {
    std::uint32_t word[4];
    random_words(word, g, 0u, cycle, Purpose::shift, 0, a);
    draw_shift(word, g.half[a], g.cells[a], d.shift_cells[a], d.shift_rest[a]);
  }
  for (int round = 0; round < g.rounds; ++round) {
    std::uint32_t word[8];
    for (int call = 0; call < 2; ++call)
      random_words(word + 4 * call, g, 0u, cycle, Purpose::set_order, round, call);
    d.order[round] = permutation<3>(1 << D, word);
  }
  return d;
}

// ---- observables, a cell at a time (section 8) ----

// Calls pair(j, dx, dy, dz) for the particle in a slot of a cell and the others, j, in the cells
// within `range` cells; each pair of particles once. Differences are exact.
template <int D, class Count, class Pair>
MM_HD void for_pairs(const Geometry& g, const Sphere* spheres, const Count* counts, int range,
                     const int cell[3], int slot, Pair&& pair) {
  const auto index = [&](int x, int y, int z) {
    return (static_cast<std::int64_t>(z) * g.cells[1] + y) * g.cells[0] + x;
  };
  const Sphere p = spheres[index(cell[0], cell[1], cell[2]) * g.slots + slot];
  const auto around = [&](int a, int by) { return (cell[a] + by + 2 * g.cells[a]) % g.cells[a]; };
  // Half of the block of cells, those behind the cell in the order z, y, x. Places are relative to
  // the centers of their cells, which are 2 H apart.
  for (int k = 0; k <= (D == 3 ? range : 0); ++k)
    for (int j = k == 0 ? 0 : -range; j <= range; ++j)
      for (int i = k == 0 && j == 0 ? 0 : -range; i <= range; ++i) {
        const std::int64_t there = index(around(0, i), around(1, j), D == 3 ? around(2, k) : 0);
        const int n = static_cast<int>(counts[there]);
        for (int s = i == 0 && j == 0 && k == 0 ? slot + 1 : 0; s < n; ++s) {
          const Sphere q = spheres[there * g.slots + s];
          pair(p.id, q.id, q.x - p.x + 2.0f * g.half[0] * static_cast<float>(i),
               q.y - p.y + 2.0f * g.half[1] * static_cast<float>(j),
               D == 3 ? q.z - p.z + 2.0f * g.half[2] * static_cast<float>(k) : 0.0f);
        }
      }
}

// Calls visit(q, away, other, t) for the t-th particle q of the cell whose number in the block of
// cells within `range` of a cell is `other`, from `begin` on; away leads from the cell's center to
// that of the other one. Of Lanes threads that share a cell each takes a part of the cells, AtOnce
// of them at a time, because a GPU's thread has to wait for what it reads.
template <int D, int Lanes, int AtOnce, class Count, class Visit>
MM_HD void for_particles_around(const Geometry& g, const Sphere* spheres, const Count* counts,
                                const int cell[3], int range, int begin, int lane, Visit&& visit) {
#if defined(__CUDA_ARCH__)
  constexpr int kAtOnce = AtOnce;
#else
  constexpr int kAtOnce = 1;  // a core does not wait for one load before it begins the next
#endif
  const int side = 2 * range + 1, all = D == 3 ? side * side * side : side * side;
  for (int first = begin + lane; first < all; first += kAtOnce * Lanes) {
    int from[kAtOnce], n[kAtOnce], most = 0;
    float away[kAtOnce][3];
    MM_UNROLL
    for (int c = 0; c < kAtOnce; ++c) {
      const int other = first + c * Lanes;
      const int by[3] = {other % side - range, other / side % side - range,
                         D == 3 ? other / (side * side) - range : 0};
      int there = 0;  // a box has at most 1e9 cells
      MM_UNROLL
      for (int a = D - 1; a >= 0; --a) {
        int i = cell[a] + by[a];
        while (i < 0) i += g.cells[a];
        while (i >= g.cells[a]) i -= g.cells[a];
        there = there * g.cells[a] + i;
        away[c][a] = 2.0f * g.half[a] * static_cast<float>(by[a]);
      }
      from[c] = there;
      n[c] = other < all ? static_cast<int>(counts[there]) : 0;
      if (n[c] > most) most = n[c];
    }
    for (int t = 0; t < most; ++t) {
      // A single cell has a particle t, because it alone makes `most`.
      const auto has = [&](int c) { return kAtOnce == 1 || t < n[c]; };
      Sphere q[kAtOnce];
      MM_UNROLL
      for (int c = 0; c < kAtOnce; ++c)
        if (has(c)) q[c] = spheres[static_cast<std::int64_t>(from[c]) * g.slots + t];
      MM_UNROLL
      for (int c = 0; c < kAtOnce; ++c)
        if (has(c)) visit(q[c], away[c], first + c * Lanes, t);
    }
  }
}

// Histograms of distances in contact distances, from contact on.
struct ContactBins {
  double per_unit;  // bins per contact distance
  int bins;
  int range;        // cells within which pairs are looked for
  float farthest2;  // a float32 bound on the squared distances that count
};

// The histogram of a pair, one for each pair of types.
template <Contact C>
MM_HD int pair_kind(const Law& law, std::uint32_t i, std::uint32_t j) {
  if constexpr (C != Contact::table) return 0;
  int a = law.labels[i].type, b = law.labels[j].type;
  if (a > b) exchange(a, b);
  return a * law.types - a * (a - 1) / 2 + b - a;
}

// The place of a pair in [kinds][bins], -1 if it is beyond the last bin. Exact up to the float64
// square roots and one division, the same everywhere.
template <Contact C>
MM_HD int contact_bin(const Law& law, const ContactBins& bins, std::uint32_t i, std::uint32_t j,
                      float dx, float dy, float dz) {
  if (fast_fma(dx, dx, fast_fma(dy, dy, dz * dz)) > bins.farthest2) return -1;
  const double s = square_root(exact_square(dx, dy, dz)) / square_root(contact_of<C>(law, i, j));
  const double bin = (s - 1) * bins.per_unit;
  if (!(bin < bins.bins)) return -1;
  return pair_kind<C>(law, i, j) * bins.bins + (bin < 0 ? 0 : static_cast<int>(bin));
}

// ---- the policy ----

// Particles of any sizes in cells of the largest contact distance. In a cell they are in the order
// of their indices, so that their places are the whole state.
template <int D, Contact C>
struct Particles {
  static constexpr int kDimensions = D;
  static constexpr Contact kContact = C;
  static constexpr GridRules kGrid{kMaxHalfWidth, 4.0 / 3, 0.12, 8, 2, kMaxTile};
};

static_assert(Policy<Particles<2, Contact::table>> && Policy<Particles<3, Contact::additive>>);

// Calls task(policy) with the policy of these dimensions and contact distances.
auto with_particles(int dimensions, Contact contact, auto&& task) {
  return for_constant<2, 3>(dimensions, [&](auto d) {
    return for_constant<Contact::one_size, Contact::additive, Contact::table>(
        contact, [&](auto c) { return task(Particles<decltype(d)::value, c()>{}); });
  });
}

}  // namespace manymove::hard_particles
