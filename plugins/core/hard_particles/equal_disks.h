// SPDX-License-Identifier: BSD-3-Clause
// The policy `EqualDisks`: the grid and the laws of motion of disks of one size at constant volume,
// the same for every backend. Why the chain is right: docs/theory/hard_disks.md. Sections,
// equations and algorithms are those of the paper (model.h).
//
// Lengths are integers, held exactly in float32: a cell is 2 H units wide (H about 2^21), a disk
// sits on an odd unit relative to the center of its cell, grid shifts and moves are even. So shifts
// and coordinate differences never round, no disk is ever on a cell boundary, and none can be lost
// (section 3.2).
#pragma once

#include "particles.h"

namespace manymove::hard_particles::equal_disks {

inline constexpr int kSlots = 4;  // disks that fit a cell narrower than sqrt(2) diameters (Fig. 3)
inline constexpr int kMaxTile = 41;     // so that a cell's index in its tile fits the list entry
inline constexpr float kEmpty = 1e15f;  // coordinate of an empty slot: out of reach of all disks

struct alignas(8) Position {
  float x, y;
};

// Where a neighboring cell is: the distance in local storage, and the way from center to center.
struct alignas(16) Neighbor {
  int offset;
  float x, y;
  int unused;
};

// The cell grid and the laws of motion. Lengths in units of the integer grid.
struct Geometry {
  int cells[2];   // cells along x and y, at least 3
  int tiles[2];   // tiles along x and y
  int tile;       // widest tile, in cells
  int stride;     // cells of a tile's row in local storage, even
  int plane;      // cells of a tile in local storage; slots lie plane apart
  float half[2];  // H: half a cell's width
  float step;     // maximum displacement / 16383.5, eight significant bits
  // The eight neighbors in reading order, of a cell in an even or odd column.
  Neighbor near[2][8];
  double diameter;  // d
  double contact;   // d^2: closer than that is an overlap, exactly
  // Float32 estimates of a squared distance above the first are no overlap, those below the second
  // are one; between the two the exact predicate decides.
  float surely_free, surely_overlap;
  int moves_per_cell;  // n_m
  int rounds;          // passes over the four sets between two grid shifts
  StripView part;
  // The size of this struct decides where the other arguments of a kernel lie. Without these bytes,
  // nvcc 13.0 spills 194 bytes of registers of a cycle's kernel instead of 8.
  int unused;
  PhiloxKey key;
};

// ---- one trial move ----

// The disks that a cell's own can meet, relative to the cell's center, prepared for the estimate
// |r_j - r|^2 = (|r_j|^2 - 2 r_j . r) + |r|^2: three instructions a neighbor.
template <class F, int K>
struct Surroundings {
  F x[K], y[K], c[K];  // c = |r_j|^2

  MM_HD void set(int k, F to_x, F to_y) {
    x[k] = to_x;
    y[k] = to_y;
    c[k] = fast_fma(to_y, to_y, to_x * to_x);
  }
};

// An estimate, good to 1.2e-6 d^2 (docs/theory), of the smallest squared distance from (x, y) to
// the first `used` of the surroundings.
template <class F, int K>
MM_HD F nearest(const Surroundings<F, K>& around, F x, F y, int used = K) {
  const F a = x * -2.0f, b = y * -2.0f;
  const auto term = [&](int k) {
    return fast_fma(around.x[k], a, fast_fma(around.y[k], b, around.c[k]));
  };
  F even = term(0), odd = term(1);  // two chains, for the latency
  MM_UNROLL
  for (int k = 2; k < K; ++k) {
    if (k >= 8 && k >= used) continue;
    F& m = k % 2 ? odd : even;
    m = min_of(m, term(k));
  }
  return min_of(even, odd) + fast_fma(x, x, y * y);
}

// ---- a tile in local storage (shared memory, or a core's cache) ----

// Columns alternate between two halves of a row, so that the cells of one checkerboard set lie side
// by side.
MM_HD int local_index(const Geometry& g, int column, int row) {
  return row * g.stride + (column & 1) * (g.stride >> 1) + (column >> 1);
}

MM_HD constexpr int neighbor_dx(int k) { return k < 3 ? k - 1 : k == 3 ? -1 : k == 4 ? 1 : k - 6; }
MM_HD constexpr int neighbor_dy(int k) { return k < 3 ? -1 : k < 5 ? 0 : 1; }

// Tiles of a grid with these cells, and their local storage.
inline void lay_out_tiles(Geometry& g, int tile) {
  g.tile = tile;
  g.stride = 2 * ((tile + 2) / 2);
  g.plane = g.stride * (tile + 1);
  for (int odd = 0; odd < 2; ++odd)
    for (int k = 0; k < 8; ++k) {
      const int dx = neighbor_dx(k), dy = neighbor_dy(k), half_row = g.stride / 2;
      const int sideways = dx == 0  ? 0
                           : dx < 0 ? (odd ? -half_row : half_row - 1)
                                    : (odd ? 1 - half_row : half_row);
      g.near[odd][k] = {dy * g.stride + sideways, 2 * g.half[0] * static_cast<float>(dx),
                        2 * g.half[1] * static_cast<float>(dy), 0};
    }
  for (int a = 0; a < 2; ++a) g.tiles[a] = (g.cells[a] + tile - 1) / tile;
}

// An active cell in a set's list: its local index (13 bits), its disks (3 bits) and, two bits for
// each neighbor, how many disks beyond the first that one holds. Occupation is constant within a
// cycle.
MM_HD std::uint32_t list_entry(int index, std::uint32_t count, std::uint32_t extras) {
  return static_cast<std::uint32_t>(index) | count << 13 | extras << 16;
}
MM_HD std::uint32_t list_entry(const Geometry& g, const std::uint32_t* count, int index, int odd) {
  std::uint32_t extras = 0;
  MM_UNROLL
  for (int k = 0; k < 8; ++k) {
    const std::uint32_t n = count[index + g.near[odd][k].offset];
    extras |= (n > 1 ? n - 1 : 0) << (2 * k);
  }
  return list_entry(index, count[index], extras);
}
MM_HD int entry_index(std::uint32_t entry) { return static_cast<int>(entry & 0x1fffu); }
MM_HD int entry_count(std::uint32_t entry) { return static_cast<int>(entry >> 13 & 7u); }
MM_HD std::uint32_t entry_extras(std::uint32_t entry) { return entry >> 16; }

// A cell and its neighbors in local storage.
struct LocalCell {
  Position* slot;        // first slot of the cell; the next are `plane` apart
  const Neighbor* near;  // [8]
  int plane;
};

// Where an extra is: its distance from the cell's first slot, and the way from center to center.
struct Extra {
  int offset;
  float x, y;
};
// Takes one disk off the mask of extras.
MM_HD Extra take_extra(std::uint32_t& extras, const Neighbor* near, int plane) {
  const int k = highest_bit(extras) >> 1;
  const int slot = static_cast<int>(extras >> (2 * k) & 3u);
  extras -= 1u << (2 * k);
  const Neighbor n = near[k];
  return {slot * plane + n.offset, n.x, n.y};
}
// The same, relative to the cell's center.
MM_HD Position next_extra(const LocalCell& at, std::uint32_t& extras) {
  const Extra e = take_extra(extras, at.near, at.plane);
  const Position p = at.slot[e.offset];
  return {p.x + e.x, p.y + e.y};
}

MM_HD bool exactly_apart(float dx, float dy, double contact) {
  return exact_square(dx, dy) >= contact;
}

// The law itself, without rounding: is a disk at (x, y) in slot `own` of a cell apart from all
// others? Coordinates are integers below 2^24, so their differences and, in float64, their squares
// are exact.
MM_HD bool exactly_free(const Position* slot, const Neighbor* near, int plane, int own, float x,
                        float y, double contact) {
  for (int k = -1; k < 8; ++k) {
    const Neighbor n = k < 0 ? Neighbor{0, 0, 0, 0} : near[k];
    for (int s = 0; s < kSlots; ++s) {
      const Position p = slot[s * plane + n.offset];
      if (p.x == kEmpty || (k < 0 && s == own)) continue;
      if (!exactly_apart(p.x + n.x - x, p.y + n.y - y, contact)) return false;
    }
  }
  return true;
}

// Fills the surroundings of a cell: the first disks of its eight neighbors, then up to K - 8
// extras, counted in `used`. Returns the extras that found no room.
template <int K>
MM_HD std::uint32_t look_around(const Geometry& g, const LocalCell& at, int odd,
                                std::uint32_t extras, Surroundings<float, K>& around, int& used) {
  MM_UNROLL
  for (int k = 0; k < 8; ++k) {
    Position p = at.slot[g.near[odd][k].offset];
    // From the center of this cell: those of its neighbors are 2 H away.
    if (neighbor_dx(k)) p.x += 2.0f * g.half[0] * static_cast<float>(neighbor_dx(k));
    if (neighbor_dy(k)) p.y += 2.0f * g.half[1] * static_cast<float>(neighbor_dy(k));
    around.set(k, p.x, p.y);
  }
  used = 0;
  MM_UNROLL
  for (int k = 8; k < K; ++k) {
    Position p{kEmpty, kEmpty};
    if (extras) {
      p = next_extra(at, extras);
      ++used;
    }
    around.set(k, p.x, p.y);
  }
  return extras;
}

MM_HD float squared_distance(Position p, float x, float y) {
  const float dx = p.x - x, dy = p.y - y;
  return fast_fma(dx, dx, dy * dy);
}

// ---- one visit: n_m trial moves of a cell's disks in shuffled order, again from the start when
// the list ends (Algorithm 1, lines 5-14). A move that leaves the cell is rejected.

// Two disks take turns; this bit of the visit's first random word says which begins.
MM_HD int first_of_pair(std::uint32_t word) { return static_cast<int>(word >> 23 & 1u); }

// Any cell; returns the accepted moves. K - 8 extras are kept at hand.
template <int K>
MM_HD int visit_any(const Geometry& g, std::uint64_t cycle, int round, const LocalCell& at,
                    std::uint32_t entry, int odd, std::uint32_t where) {
  const int n = entry_count(entry);
  Surroundings<float, K> around;
  int used, accepted = 0, turn = 0;
  // The disks around stay where they are during the visit, because no two neighbors of a cell
  // belong to its set (section 2.1).
  const std::uint32_t rest = look_around(g, at, odd, entry_extras(entry), around, used);
  unsigned order = 0xe4;
  std::uint32_t word[4];
  // Line 5: the order is drawn for each visit. An order that is kept from visit to visit remembers
  // earlier configurations (section 2.4, point 2).
  if (n > 2) {
    random_words(word, g, where, cycle, Purpose::shuffle, round, 0);
    order = permutation<2>(n, word);
  }
  MM_NO_UNROLL
  for (int made = 0; made < g.moves_per_cell; ++made) {
    if ((made & 3) == 0)
      random_words(word, g, where, cycle, Purpose::displacement, round, made >> 2);
    if (made == 0 && n == 2 && first_of_pair(word[0])) order = 0x1;  // 0 1 from the top: 1, 0
    // Line 7: disk sigma(made mod n).
    const int slot = static_cast<int>(order >> (2 * turn) & 3u);
    turn = turn + 1 == n ? 0 : turn + 1;
    const Position p = at.slot[slot * at.plane];
    // Line 8: r' = r + delta, with delta uniform in a square about 0, so that a move and its
    // reverse are equally likely.
    const float x = p.x + displacement(word[0], g.step),
                y = p.y + displacement(other_half(word[0]), g.step);
    word[0] = word[1];
    word[1] = word[2];
    word[2] = word[3];
    // Line 9: exp(-beta dU) is 1 if |r_j - r'| >= d for all j and 0 otherwise, so that only the
    // smallest |r_j - r'|^2 matters.
    float closest = nearest(around, x, y, 8 + used);
    for (std::uint32_t left = rest; left;)
      closest = min_of(closest, squared_distance(next_extra(at, left), x, y));
    MM_UNROLL
    for (int other = 0; other < kSlots; ++other)
      if (other != slot)
        closest = min_of(closest, squared_distance(at.slot[other * at.plane], x, y));
    // |x'|, |y'| < H: a center that left the cell could not come back by the reverse of this visit
    // (section 2.4, point 1).
    const bool inside = abs_of(x) < g.half[0] && abs_of(y) < g.half[1];
    // The float32 estimate decides unless d^2 is within its error; then x^2 + y^2 >= d^2 is decided
    // in integers.
    bool free = closest > g.surely_free;
    if (inside && !free && closest >= g.surely_overlap)
      free = exactly_free(at.slot, at.near, at.plane, slot, x, y, g.contact);
    if (inside && free) {
      at.slot[slot * at.plane] = {x, y};
      ++accepted;
    }
  }
  return accepted;
}

// ---- the grid shift (Algorithm 4) ----

// Where a disk of an old cell lands: its cell of the shifted grid is the one with the old cell's
// indices less shift_cells, or one before that along x, y or both. `order` sorts the disks of a new
// cell: first those of the old cell that it covers most, in their old order, then those that enter
// from the others (section 2.4). Nothing rounds, so that a disk lands in one cell and only one
// (section 3.2).
struct Landing {
  Position p;     // in the new cell
  int before[2];  // 0 or 1
  int order;      // below 16
};

MM_HD Landing land(const Geometry& g, const Draw& d, Position p, int slot) {
  Landing l;
  // In the shifted grid r' = r - shift; below -H the disk is in the cell before, at r' + 2 H.
  const float x = p.x - d.shift_rest[0], y = p.y - d.shift_rest[1];
  l.before[0] = x < -g.half[0];
  l.before[1] = y < -g.half[1];
  l.p = {l.before[0] ? x + 2.0f * g.half[0] : x, l.before[1] ? y + 2.0f * g.half[1] : y};
  const int enters_x = l.before[0] ^ (d.shift_rest[0] >= g.half[0]);
  const int enters_y = l.before[1] ^ (d.shift_rest[1] >= g.half[1]);
  l.order = (enters_y << 1 | enters_x) * kSlots + slot;
  return l;
}

// The old cell that lies `column`, `row` cells from the old place of a tile's first cell.
struct OldCell {
  int column, row;
};
MM_HD OldCell old_cell(const Geometry& g, const Draw& d, const TileBounds& b, int column, int row) {
  int at[2] = {b.first[0] + d.shift_cells[0] + column, b.first[1] + d.shift_cells[1] + row};
  for (int a = 0; a < 2; ++a)
    while (at[a] >= g.cells[a]) at[a] -= g.cells[a];
  return {at[0], at[1]};
}

// The shift of the grid, uniform over the box, and the order of the sets in each round. `g` is the
// whole grid.
inline Draw draw_cycle(const hard_particles::Geometry& g, std::uint64_t cycle) {
  Draw d{};
  d.cycle = cycle;
  std::uint32_t word[4];
  random_words(word, g, 0u, cycle, Purpose::shift, 0, 0);
  for (int a = 0; a < 2; ++a)
    draw_shift(word + 2 * a, g.half[a], g.cells[a], d.shift_cells[a], d.shift_rest[a]);
  for (int round = 0; round < g.rounds; ++round) {
    random_words(word, g, 0u, cycle, Purpose::set_order, round, 0);
    d.order[round] = permutation<2>(4, word);
  }
  return d;
}

// ---- observables ----

// psi_6 of one disk: the mean of exp(6 i theta) over the neighbors within a squared distance.
struct BondOrder {
  double re = 0, im = 0;
  int neighbors = 0;

  MM_HD void add(float dx, float dy, float reach2) {
    const float r2 = fast_fma(dx, dx, dy * dy);
    if (r2 >= reach2) return;
    const double c = static_cast<double>(dx), s = static_cast<double>(dy),
                 norm = 1.0 / (c * c + s * s);
    const double c2 = (c * c - s * s) * norm, s2 = 2 * c * s * norm;
    const double c4 = c2 * c2 - s2 * s2, s4 = 2 * c2 * s2;
    re += c4 * c2 - s4 * s2;
    im += c4 * s2 + s4 * c2;
    ++neighbors;
  }
  // Adds it to the sum of a part of the disks.
  MM_HD void add_to(double& sum_re, double& sum_im) const {
    if (neighbors == 0) return;
    sum_re += re / neighbors;
    sum_im += im / neighbors;
  }
};

}  // namespace manymove::hard_particles::equal_disks

namespace manymove::hard_particles {

// Cells of one diameter, most of which hold at most one disk; a cell narrower than sqrt(2)
// diameters holds four at most (Fig. 3). The order of the disks in a cell is part of the state.
struct EqualDisks {
  static constexpr int kDimensions = 2;
  static constexpr GridRules kGrid{std::int64_t{1} << 21, 1.4142135623730951, 0.16, 4, 3,
                                   equal_disks::kMaxTile};
};
static_assert(Policy<EqualDisks>);

}  // namespace manymove::hard_particles
