// SPDX-License-Identifier: BSD-3-Clause
// Cells, the order of particles in memory and who is a neighbour: the same on CPU and GPU, so that
// lists are equal entry by entry.
#pragma once

#include "frame.h"

namespace manymove::dpd {

struct Cells {
  int count[3];  // along each edge of the frame
  int fine;      // each is 2^fine bins wide, which order the particles in it
  int bits;      // of the number of bins along the longest
  // Of list_place(): lengths of one unit of 2^-32 of the frame.
  float xx, yy, zz, xy, xz, yz;
  float reach_squared;      // of the lists
  float half_skin_squared;  // who has come farther than that since, makes them invalid
};

MM_HD std::uint32_t bin_of(std::uint32_t coordinate, std::uint32_t bins) {
  std::uint32_t high, low;
  multiply_wide(coordinate, bins, high, low);
  return high;
}

// Spreads the low 10 bits to every third.
MM_HD std::uint32_t spread(std::uint32_t a) {
  a = (a | a << 16) & 0x030000ffu;
  a = (a | a << 8) & 0x0300f00fu;
  a = (a | a << 4) & 0x030c30c3u;
  return (a | a << 2) & 0x09249249u;
}

// Where the particle comes in memory: the Morton order of bins, hence of cells, and within them
// (section 3.2.2 of the paper, Figure 3).
MM_HD std::uint32_t morton_key(const Cells& cells, std::uint32_t x, std::uint32_t y,
                               std::uint32_t z) {
  return spread(bin_of(x, static_cast<std::uint32_t>(cells.count[0]) << cells.fine)) |
         spread(bin_of(y, static_cast<std::uint32_t>(cells.count[1]) << cells.fine)) << 1 |
         spread(bin_of(z, static_cast<std::uint32_t>(cells.count[2]) << cells.fine)) << 2;
}

MM_HD int cell_of(const Cells& cells, std::uint32_t x, std::uint32_t y, std::uint32_t z) {
  const auto c = [&](std::uint32_t u, int a) {
    return static_cast<int>(bin_of(u, static_cast<std::uint32_t>(cells.count[a])));
  };
  return (c(z, 2) * cells.count[1] + c(y, 1)) * cells.count[0] + c(x, 0);
}

// The cell itself and those around it, k from 0 to 26; -1 where so few cells lie along an edge that
// it is another one's.
MM_HD int neighbour_cell(const Cells& cells, int cell, int k) {
  const int n0 = cells.count[0], n1 = cells.count[1], n2 = cells.count[2];
  const int dx = k % 3 - 1, dy = k / 3 % 3 - 1, dz = k / 9 - 1;
  if ((n0 < 3 && dx < 0) || (n0 < 2 && dx != 0) || (n1 < 3 && dy < 0) || (n1 < 2 && dy != 0) ||
      (n2 < 3 && dz < 0) || (n2 < 2 && dz != 0))
    return -1;
  const int x = (cell % n0 + dx + n0) % n0, y = (cell / n0 % n1 + dy + n1) % n1,
            z = (cell / (n0 * n1) + dz + n2) % n2;
  return (z * n1 + y) * n0 + x;
}

// Whether two particles come into each other's lists, decided in float32 for both precisions from
// places relative to a third particle nearby. The reach is a little longer than cutoff + skin, and
// half_skin_squared a little shorter than its name says, for the rounding.
struct ListPlace {
  float x, y, z;
};
MM_HD ListPlace list_place(const Cells& cells, std::uint32_t x, std::uint32_t y, std::uint32_t z) {
  const auto a = static_cast<float>(static_cast<std::int32_t>(x)),
             b = static_cast<float>(static_cast<std::int32_t>(y)),
             c = static_cast<float>(static_cast<std::int32_t>(z));
  return {fused(a, cells.xx, fused(b, cells.xy, c * cells.xz)), fused(b, cells.yy, c * cells.yz),
          c * cells.zz};
}
MM_HD bool within_reach(const Cells& cells, const ListPlace& i, const ListPlace& j) {
  const float x = i.x - j.x, y = i.y - j.y, z = i.z - j.z;
  return fused(x, x, fused(y, y, z * z)) < cells.reach_squared;
}

// Whether a particle has come so far from where it was when lists were built, that somebody might
// be missing in them.
MM_HD bool moved_far(const Cells& cells, std::uint32_t x, std::uint32_t y, std::uint32_t z) {
  const ListPlace d = list_place(cells, x, y, z);
  return fused(d.x, d.x, fused(d.y, d.y, d.z * d.z)) > cells.half_skin_squared;
}

// List entries: index of the neighbour, its special kind in the top two bits.
constexpr std::uint32_t kIndexBits = 0x3fffffffu;

// Outside the box where it is not periodic: the frame's first and last quarters.
MM_HD bool outside(std::uint32_t open, std::uint32_t x, std::uint32_t y, std::uint32_t z) {
  const auto beyond = [](std::uint32_t u) { return u < 0x40000000u || u > 0xc0000000u; };
  return ((open & 1u) && beyond(x)) || ((open & 2u) && beyond(y)) || ((open & 4u) && beyond(z));
}

}  // namespace manymove::dpd
