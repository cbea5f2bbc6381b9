// SPDX-License-Identifier: BSD-3-Clause
// A visit of a cell that decides its trial moves by estimates alone and is made again where one was
// too near to contact: what most visits on a GPU are (docs/theory/hard_disks.md, sections 1.6 and
// 5).
#pragma once

#include "../equal_disks.h"

namespace manymove::hard_particles::equal_disks {

inline constexpr int kExtras = 4;  // of the neighbors, at most

// What such a visit needs of the geometry. Coordinates are those relative to the lower left corner
// of the cell, less one, so that the cell's own disks have even integers in [0, 2H); those of the
// disk that moves are doubled, so that |r_j|^2 - 2 r_j . r takes two operations without a product
// by 2.
struct Doubled {
  float here[2], left[2], right[2];  // from the coordinates of model.h, of this cell or a neighbor
  float step, shift;                 // of a doubled displacement, to which kShift is added
  std::uint32_t edge[2];             // bits of 4H: doubled coordinates of the cell are below
  float contact, unsure;             // 4 d^2; estimates below this in magnitude decide nothing
  float lift, beyond;        // the largest |r|^2, which keeps estimates positive; 4 (d^2 + lift)
  std::uint32_t exponent;    // makes the float that displacement() begins with
  int sideways[2], row;      // bytes to the cell on the left, by the column's parity, and up
  std::uint32_t key[10][2];  // of the rounds of Philox
};
inline constexpr float kShift = 50331648.0f;  // 2 * 1.5 * 2^24
// In units of d^2: closer to contact the estimate may decide wrongly (theory, section 1.6).
inline constexpr double kUnsure = 8e-6;

inline Doubled doubled(const Geometry& g) {
  Doubled s{};
  for (int a = 0; a < 2; ++a) {
    s.here[a] = g.half[a] - 1;
    s.left[a] = s.here[a] - 2 * g.half[a];
    s.right[a] = s.here[a] + 2 * g.half[a];
    s.edge[a] = bits_of(4 * g.half[a]);
  }
  s.step = 2 * g.step;
  s.shift = static_cast<float>(static_cast<double>(kShift) - 49152.0 * static_cast<double>(s.step));
  s.contact = static_cast<float>(4 * g.contact);
  s.unsure = static_cast<float>(4 * kUnsure * g.contact);
  // |r'|^2 <= 4 (H_x^2 + H_y^2) in doubled coordinates, so that c_j - 2 r_j . r' + lift >= 0.
  s.lift = 4 * (g.half[0] * g.half[0] + g.half[1] * g.half[1]);
  s.beyond = static_cast<float>(4 * (g.contact + static_cast<double>(s.lift)));
  s.exponent = kDrawnBits;
  for (int odd = 0; odd < 2; ++odd)
    s.sideways[odd] = g.near[odd][3].offset * static_cast<int>(sizeof(Position));
  s.row = g.stride * static_cast<int>(sizeof(Position));
  for (std::uint32_t round = 0; round < 10; ++round) {
    // The Weyl sequences of philox(), which are the same for all threads.
    s.key[round][0] = g.key.k0 + round * 0x9E3779B9u;
    s.key[round][1] = g.key.k1 + round * 0xBB67AE85u;
  }
  return s;
}

// random_words() of four displacements.
MM_HD void displacement_words(std::uint32_t word[4], const Doubled& s, std::uint32_t where,
                              std::uint64_t cycle, int round, int call) {
  word[0] = where;
  word[1] = static_cast<std::uint32_t>(cycle);
  word[2] = static_cast<std::uint32_t>(cycle >> 32);
  word[3] = counter_of(Purpose::displacement, round, call);
  MM_UNROLL
  for (int k = 0; k < 10; ++k) {
    std::uint32_t high0, low0, high1, low1;
    multiply_wide(word[0], 0xD2511F53u, high0, low0);
    multiply_wide(word[2], 0xCD9E8D57u, high1, low1);
    word[0] = high1 ^ word[1] ^ s.key[k][0];
    word[1] = low1;
    word[2] = high0 ^ word[3] ^ s.key[k][1];
    word[3] = low0;
  }
}

MM_HD int least_of(int a, int b) { return a < b ? a : b; }
MM_HD int least_of(int a, int b, int c) { return least_of(least_of(a, b), c); }

// A cell of a list and the random words of its first four moves.
struct CellVisit {
  std::uint32_t entry, where, word[4];
  int odd;  // whether its column is
};

// Where the extras of a cell are: bytes from its first slot, and what brings coordinates there into
// its frame. Those that are not there are out of reach.
struct Extras {
  int offset[kExtras];
  float x[kExtras], y[kExtras];
};
template <int K>
MM_HD void find_extras(const Doubled& s, const Neighbor* near, int plane, std::uint32_t entry,
                       Extras& found) {
  std::uint32_t extras = entry_extras(entry);
  MM_UNROLL
  for (int k = 0; k < K; ++k) {
    // Without a branch, so that none of them has to wait for the one before.
    const bool there = extras != 0;
    if (!there) extras = 1;
    const Extra e = take_extra(extras, near, plane);
    found.offset[k] = there ? e.offset * static_cast<int>(sizeof(Position)) : 0;
    found.x[k] = there ? e.x + s.here[0] : kEmpty;
    found.y[k] = there ? e.y + s.here[1] : kEmpty;
  }
}

// Does what visit_any() does for a cell with one disk (or, if Mixed, one or two) and at most K - 8
// extras, n_m a multiple of 4, and adds to the accepted moves; or does nothing and returns false.
template <int K, bool Mixed>
MM_HD bool visit_by_estimates(const Geometry& g, const Doubled& s, std::uint64_t cycle, int round,
                              const LocalCell& at, CellVisit& visit, const Extras& extras,
                              float& accepted) {
  float x[K], y[K], c[K];  // c = |r_j|^2 + lift
  const char* const here = reinterpret_cast<const char*>(at.slot);
  const char* const left = here + (visit.odd ? s.sideways[1] : s.sideways[0]);
  MM_UNROLL
  for (int k = 0; k < 8; ++k) {
    const int dx = neighbor_dx(k), dy = neighbor_dy(k);
    const char* const place =
        (dx ? left + (dx > 0 ? sizeof(Position) : 0) : here) + (dy < 0   ? -s.row
                                                                : dy > 0 ? s.row
                                                                         : 0);
    const Position p = *reinterpret_cast<const Position*>(place);
    x[k] = p.x + (dx < 0 ? s.left[0] : dx > 0 ? s.right[0] : s.here[0]);
    y[k] = p.y + (dy < 0 ? s.left[1] : dy > 0 ? s.right[1] : s.here[1]);
    c[k] = fast_fma(y[k], y[k], fast_fma(x[k], x[k], s.lift));
  }
  MM_UNROLL
  for (int k = 8; k < K; ++k) {
    const Position p = *reinterpret_cast<const Position*>(here + extras.offset[k - 8]);
    x[k] = p.x + extras.x[k - 8];
    y[k] = p.y + extras.y[k - 8];
    c[k] = fast_fma(y[k], y[k], fast_fma(x[k], x[k], s.lift));
  }

  const bool pair = Mixed && entry_count(visit.entry) == 2;
  const int first = pair ? first_of_pair(visit.word[0]) : 0;
  const auto load = [&](int slot, float by) -> Position {
    const Position r = at.slot[slot * at.plane];
    return {fused(2.0f, r.x + s.here[0], by), fused(2.0f, r.y + s.here[1], by)};
  };
  Position p = load(first, -kShift), q{};  // p: less kShift
  if (Mixed) q = load(1 - first, 0);
  // The least |t| of all trials; if it is within the error of t, nothing of this visit counts.
  float least = kEmpty, moved = 0;
  for (int made = 0;;) {
    MM_UNROLL
    for (int m = 0; m < 4; ++m) {
      const auto along = [&](std::uint32_t word, float from) {
        const float r = as_float((word & 0x007fff00u) | s.exponent);
        return fused(r, s.step, s.shift) + from;
      };
      const float a = along(visit.word[m], p.x), b = along(other_half(visit.word[m]), p.y);
      const auto term = [&](int k) {
        return static_cast<int>(bits_of(fast_fma(-x[k], a, fast_fma(-y[k], b, c[k]))));
      };
      // c_j - 2 r_j . r' = |r_j - r'|^2 - |r'|^2 + lift; the least of these decides, by
      // t = 4 (min_j |r_j - r'|^2 - d^2).
      // Integers, because an instruction finds the least of three; two chains, for the latency.
      int even = least_of(term(0), term(1), term(2)), odd_one = least_of(term(3), term(4), term(5));
      MM_UNROLL
      for (int k = 6; k + 1 < K; k += 2) {
        int& nearest_yet = k % 4 ? odd_one : even;
        nearest_yet = least_of(nearest_yet, term(k), term(k + 1));
      }
      const int nearest_one =
          K % 2 ? least_of(even, odd_one, term(K - 1)) : least_of(even, odd_one);
      float t = fast_fma(4.0f, as_float(static_cast<std::uint32_t>(nearest_one)),
                         fast_fma(a, a, fast_fma(b, b, -s.beyond)));
      if (Mixed) {
        // Also of the other disk of the cell, whose coordinates are doubled: |2 r' - 2 q|^2 - 4
        // d^2.
        const float u = a - q.x, v = b - q.y;
        t = min_of(t, fast_fma(u, u, fast_fma(v, v, -s.contact)));
      }
      least = min_of(least, abs_of(t));
      // 0 <= 2 x', 2 y' < 4 H as comparisons of bits, because those of negative floats are larger
      // (the disk stays in the cell); and no overlap, t > 0.
      if (bits_of(a) < s.edge[0] && bits_of(b) < s.edge[1] && t > 0) {
        p = {a - kShift, b - kShift};
        moved += 1.0f;
      }
      if (pair) {
        const Position next = q;
        q = {p.x + kShift, p.y + kShift};
        p = {next.x - kShift, next.y - kShift};
      }
    }
    made += 4;
    if (made >= g.moves_per_cell) break;
    displacement_words(visit.word, s, visit.where, cycle, round, made >> 2);
  }
  if (least < s.unsure) return false;
  accepted += moved;
  // From p = 2 (r + here) - kShift, or q = 2 (r + here), back to r.
  at.slot[first * at.plane] = {fused(0.5f, p.x + kShift, -s.here[0]),
                               fused(0.5f, p.y + kShift, -s.here[1])};
  if (pair)
    at.slot[(1 - first) * at.plane] = {fused(0.5f, q.x, -s.here[0]), fused(0.5f, q.y, -s.here[1])};
  return true;
}

}  // namespace manymove::hard_particles::equal_disks
