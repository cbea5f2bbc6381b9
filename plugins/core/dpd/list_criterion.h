// SPDX-License-Identifier: BSD-3-Clause
// Who is a neighbor: the same on CPU and GPU, so that lists are equal entry by entry.
#pragma once

#include "cells.h"
#include "step.h"

namespace manymove::dpd {

// List entries: index of the neighbor, its special kind in the top two bits.
constexpr std::uint32_t kIndexBits = 0x3fffffffu;

// Lists hold as long as every particle is in its ball: they have the pairs of balls that are within
// the cutoff of each other. A ball lies ahead of its particle, which crosses it.
struct alignas(16) Ball {
  std::uint32_t x, y, z;  // high words of its center
  float radius;
};

// Whether two particles come into each other's lists, decided in float32 for both precisions from
// places relative to a third particle nearby: |r_j - r_i| < cutoff + s_i + s_j with the radii s,
// multiplied out to -2 r_i . r_j - 2 (cutoff + s_i) s_j + |r_j|^2 - s_j^2 < (cutoff + s_i)^2 -
// |r_i|^2.
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
MM_HD float list_square(const ListPlace& r) { return fused(r.x, r.x, fused(r.y, r.y, r.z * r.z)); }
struct ListCenter {  // of a list
  float x, y, z, reach, limit;
};
MM_HD ListCenter list_center(const Cells& cells, const ListPlace& r, float radius) {
  const float reach = cells.cutoff + radius;
  return {-2 * r.x, -2 * r.y, -2 * r.z, -2 * reach, fused(reach, reach, -list_square(r))};
}
MM_HD float list_square(const ListPlace& r, float radius) {
  return fused(-radius, radius, list_square(r));
}
MM_HD bool within_reach(const ListCenter& i, const ListPlace& j, float radius_of_j,
                        float square_of_j) {
  return fused(i.x, j.x,
               fused(i.y, j.y, fused(i.z, j.z, fused(i.reach, radius_of_j, square_of_j)))) <
         i.limit;
}
// Where cells are narrow: from the difference of their coordinates.
MM_HD bool within_reach(const Cells& cells, std::uint32_t x, std::uint32_t y, std::uint32_t z,
                        float radius_i, float radius_j) {
  const float reach = cells.cutoff + radius_i + radius_j;
  return list_square(list_place(cells, x, y, z)) < reach * reach;
}

// The fastest particles end lists: a ball's center is where its particle is after half the time
// that lists are expected to hold, if its velocity stays; the ball reaches back to where it is now,
// and as far to the other side, and has some room for what forces do. Walls mirror the way.
template <class P>
MM_HD Ball ball_of(const Cells& cells, const Motion<P>& motion, const typename P::Position& r,
                   const typename P::Velocity& v) {
  const auto x = static_cast<float>(v.x), y = static_cast<float>(v.y), z = static_cast<float>(v.z);
  const float speed = square_root(fused(x, x, fused(y, y, z * z))),
              ahead = min_of(cells.time_ahead * speed, cells.farthest_ahead),
              time = ahead > 0 ? ahead / speed : 0.0f;
  const float a = time * x, b = time * y, c = time * z;
  const auto units = [](float u) { return static_cast<std::uint32_t>(nearest_integer(u)); };
  std::uint32_t at[3] = {
      high_word(r.x) + units(fused(a, cells.to_x, fused(b, cells.to_xy, c * cells.to_xz))),
      high_word(r.y) + units(fused(b, cells.to_y, c * cells.to_yz)),
      high_word(r.z) + units(c * cells.to_z)};
  for (int k = 0; k < motion.walls; ++k) {
    const auto& wall = motion.wall[k];
    if (!(r.kind >> 16 & wall.flag)) continue;
    const std::uint32_t face = high_word(wall.position);
    for (int axis = 0; axis < 3; ++axis)
      if (axis == wall.axis && (wall.high ? at[axis] > face : at[axis] < face))
        at[axis] = face + (face - at[axis]);
  }
  return {at[0], at[1], at[2], min_of(cells.rest_radius + ahead, cells.largest_radius)};
}

// Whether a particle has left its ball.
MM_HD bool moved_far(const Cells& cells, std::uint32_t x, std::uint32_t y, std::uint32_t z,
                     float radius) {
  return list_square(list_place(cells, x, y, z)) > radius * radius;
}

}  // namespace manymove::dpd
