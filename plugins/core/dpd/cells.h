// SPDX-License-Identifier: BSD-3-Clause
// Cells and the order of particles in memory; which particles are neighbors: the same on CPU and
// GPU, so that lists are equal entry by entry.
#pragma once

#include "../runtime/macros.h"
#include "../runtime/philox.h"
#include "step.h"

namespace manymove::dpd {

struct Cells {
  int count[3];  // along each edge of the frame
  // The cells of these that this rank needs: `here` from `first` on, around the frame.
  int first[3], here[3];
  int fine;  // each is 2^fine bins wide, which order the particles in it
  int bits;  // of the number of bins along the longest
  // Fewer than four cells along an edge: particles of the cells around one may be farther from each
  // other than half the frame, and only their own difference wraps to the nearest image.
  bool narrow;
  // From units of 2^-32 of the frame to lengths, for list_position(), and back, for
  // bounding_sphere_of().
  Matrix<float> edges, to;
  // For bounding_sphere_of(): the sphere of a particle at rest, the largest one, and how far its
  // center is ahead at most; the time until it gets there.
  float rest_radius, largest_radius, farthest_ahead, time_ahead;
  float cutoff;  // a little longer, for the rounding of lists
};

MM_HD std::uint32_t bin_of(std::uint32_t coordinate, std::uint32_t bins) {
  std::uint32_t high, low;
  // floor(u bins / 2^32), the upper word of the product.
  multiply_wide(coordinate, bins, high, low);
  return high;
}

// Among those that are here.
MM_HD std::uint32_t local_bin(const Cells& cells, std::uint32_t coordinate, int axis, int fine) {
  const std::uint32_t bins = static_cast<std::uint32_t>(cells.count[axis]) << fine,
                      first = static_cast<std::uint32_t>(cells.first[axis]) << fine,
                      bin = bin_of(coordinate, bins);
  return bin < first ? bin + bins - first : bin - first;
}

// Spreads the low 10 bits to every third.
MM_HD std::uint32_t spread(std::uint32_t a) {
  a = (a | a << 16) & 0x030000ffu;
  a = (a | a << 8) & 0x0300f00fu;
  a = (a | a << 4) & 0x030c30c3u;
  return (a | a << 2) & 0x09249249u;
}

// The reverse.
MM_HD std::uint32_t gather(std::uint32_t a) {
  a &= 0x09249249u;
  a = (a | a >> 2) & 0x030c30c3u;
  a = (a | a >> 4) & 0x0300f00fu;
  a = (a | a >> 8) & 0x030000ffu;
  return (a | a >> 16) & 0x000003ffu;
}

// Where the particle comes in memory: the Morton order of bins, hence of cells, and within them
// (section 3.2.2 of the paper, Figure 3).
MM_HD std::uint32_t morton_key(const Cells& cells, std::uint32_t x, std::uint32_t y,
                               std::uint32_t z) {
  return spread(local_bin(cells, x, 0, cells.fine)) |
         spread(local_bin(cells, y, 1, cells.fine)) << 1 |
         spread(local_bin(cells, z, 2, cells.fine)) << 2;
}

MM_HD int cell_of(const Cells& cells, std::uint32_t x, std::uint32_t y, std::uint32_t z) {
  const auto c = [&](std::uint32_t u, int a) {
    return static_cast<int>(local_bin(cells, u, a, 0));
  };
  return (c(z, 2) * cells.here[1] + c(y, 1)) * cells.here[0] + c(x, 0);
}

// The cell that a Morton key lies in.
MM_HD int cell_of_key(const Cells& cells, std::uint32_t key) {
  const auto c = [&](int a) { return static_cast<int>(gather(key >> a) >> cells.fine); };
  return (c(2) * cells.here[1] + c(1)) * cells.here[0] + c(0);
}

// The cell (x, y, z) itself and those around it, k from 0 to 26; -1 where so few cells lie along an
// edge that it is another one's, and beyond those that are here.
MM_HD int neighbor_cell(const Cells& cells, int x, int y, int z, int k) {
  // k = (dx + 1) + 3 (dy + 1) + 9 (dz + 1): 13 is the cell itself.
  const int dx = k % 3 - 1, dy = k / 3 % 3 - 1, dz = k / 9 - 1;
  const auto beside = [](int c, int d, int n, bool around) {
    if (around && ((n < 3 && d < 0) || (n < 2 && d > 0))) return -1;
    const int sum = c + d;
    return sum < 0 ? (around ? n - 1 : -1) : sum == n ? (around ? 0 : -1) : sum;
  };
  const int a = beside(x, dx, cells.here[0], cells.here[0] == cells.count[0]),
            b = beside(y, dy, cells.here[1], cells.here[1] == cells.count[1]),
            c = beside(z, dz, cells.here[2], cells.here[2] == cells.count[2]);
  return a < 0 || b < 0 || c < 0 ? -1 : (c * cells.here[1] + b) * cells.here[0] + a;
}

// Positions in 16 bits along each edge, modulo a length that is at least four times the reach of
// the lists: enough to tell neighbors that are out of the cutoff, in half the memory.
struct ShortFormat {
  int shift[3];  // of the frame's integers, whose top bits are left out
  // Lengths of one unit of 2^-32 of what is left, in terms of zz.
  Matrix<float> edges;
  float cutoff_squared;  // with a margin for two units of 2^-16 along each edge
  bool tilted;
};
struct alignas(8) ShortPosition {
  std::uint32_t yx, z;
};
MM_HD ShortPosition short_of(const ShortFormat& shorts, const auto& r) {
  return {
      (high_word(r.y) << shorts.shift[1] & 0xffff0000u) | high_word(r.x) << shorts.shift[0] >> 16,
      high_word(r.z) << shorts.shift[2] & 0xffff0000u};
}
template <bool upright>
MM_HD bool maybe_within_cutoff(const ShortFormat& shorts, const ShortPosition& i,
                               const ShortPosition& j) {
  const std::uint32_t yx = i.yx - j.yx;  // what is carried into y is within the margin
  const auto a = static_cast<float>(static_cast<std::int32_t>(yx << 16)),
             b = static_cast<float>(static_cast<std::int32_t>(yx)),
             z = static_cast<float>(static_cast<std::int32_t>(i.z - j.z));
  float x = a * shorts.edges.xx, y = b * shorts.edges.yy;
  if (!upright && shorts.tilted) {
    x = fused(b, shorts.edges.xy, fused(z, shorts.edges.xz, x));
    y = fused(z, shorts.edges.yz, y);
  }
  return fused(x, x, fused(y, y, z * z)) < shorts.cutoff_squared;
}

// List entries: index of the neighbor, its special kind in the top two bits.
constexpr std::uint32_t kIndexBits = 0x3fffffffu;

// Lists hold as long as every particle is in its sphere: they have the pairs of spheres that are
// within the cutoff of each other. A sphere lies ahead of its particle, which crosses it.
struct alignas(16) BoundingSphere {
  std::uint32_t x, y, z;  // high words of its center
  float radius;
};

// Whether two particles come into each other's lists, decided in float32 for both precisions from
// places relative to a third particle nearby: |r_j - r_i| < cutoff + s_i + s_j with the radii s,
// multiplied out to -2 r_i . r_j - 2 (cutoff + s_i) s_j + |r_j|^2 - s_j^2 < (cutoff + s_i)^2 -
// |r_i|^2.
MM_HD Vector<float> list_position(const Cells& cells, std::uint32_t x, std::uint32_t y,
                                  std::uint32_t z) {
  const auto real = [](std::uint32_t u) {
    return static_cast<float>(static_cast<std::int32_t>(u));
  };
  return cells.edges.times(real(x), real(y), real(z));
}
MM_HD float list_square(const Vector<float>& r) { return dot(r, r); }
struct ListCenter {  // of a list
  float x, y, z, reach, limit;
};
MM_HD ListCenter list_center(const Cells& cells, const Vector<float>& r, float radius) {
  const float reach = cells.cutoff + radius;
  return {-2 * r.x, -2 * r.y, -2 * r.z, -2 * reach, fused(reach, reach, -list_square(r))};
}
MM_HD float list_square(const Vector<float>& r, float radius) {
  return fused(-radius, radius, list_square(r));
}
MM_HD bool within_reach(const ListCenter& i, const Vector<float>& j, float radius_of_j,
                        float square_of_j) {
  return fused(i.x, j.x,
               fused(i.y, j.y, fused(i.z, j.z, fused(i.reach, radius_of_j, square_of_j)))) <
         i.limit;
}
// Where cells are narrow: from the difference of their coordinates.
MM_HD bool within_reach(const Cells& cells, std::uint32_t x, std::uint32_t y, std::uint32_t z,
                        float radius_i, float radius_j) {
  const float reach = cells.cutoff + radius_i + radius_j;
  return list_square(list_position(cells, x, y, z)) < reach * reach;
}

// The fastest particles end lists: a sphere's center is where its particle is after half the time
// that lists are expected to hold, if its velocity stays; the sphere reaches back to where it is
// now, and as far to the other side, and has some room for what forces do. Walls mirror the way.
template <Precision P>
MM_HD BoundingSphere bounding_sphere_of(const Cells& cells, const Motion<P>& motion,
                                        const typename P::Position& r,
                                        const typename P::Velocity& v) {
  const auto x = static_cast<float>(v.x), y = static_cast<float>(v.y), z = static_cast<float>(v.z);
  // The center is ahead by min(|v| t, most) along v, where t is half the time until the next lists.
  const float speed = square_root(fused(x, x, fused(y, y, z * z))),
              ahead = min_of(cells.time_ahead * speed, cells.farthest_ahead),
              time = ahead > 0 ? ahead / speed : 0.0f;
  const Vector<float> way = cells.to.times(time * x, time * y, time * z);
  const auto units = [](float u) { return static_cast<std::uint32_t>(nearest_integer(u)); };
  std::uint32_t at[3] = {high_word(r.x) + units(way.x), high_word(r.y) + units(way.y),
                         high_word(r.z) + units(way.z)};
  for (int k = 0; k < motion.walls; ++k) {
    const auto& wall = motion.wall[k];
    if (!(r.kind >> 16 & wall.flag)) continue;
    const std::uint32_t face = high_word(wall.position);
    for (int axis = 0; axis < 3; ++axis)
      if (axis == wall.axis && (wall.high ? at[axis] > face : at[axis] < face))
        at[axis] = face + (face - at[axis]);
  }
  // The radius: back to the particle, and room for what forces do.
  return {at[0], at[1], at[2], min_of(cells.rest_radius + ahead, cells.largest_radius)};
}

// Where a particle is from the center of its sphere, and whether it has left the sphere.
MM_HD Vector<float> from_center(const Cells& cells, const BoundingSphere& sphere, const auto& r) {
  return list_position(cells, high_word(r.x) - sphere.x, high_word(r.y) - sphere.y,
                       high_word(r.z) - sphere.z);
}
MM_HD bool moved_far(const Cells& cells, const BoundingSphere& sphere, const auto& r) {
  return list_square(from_center(cells, sphere, r)) > sphere.radius * sphere.radius;
}

}  // namespace manymove::dpd
