// SPDX-License-Identifier: BSD-3-Clause
// Who is perhaps within the cutoff, from positions of half the size.
#pragma once

#include "../runtime/macros.h"

namespace manymove::dpd {

// Positions in 16 bits along each edge, modulo a length that is at least four times the reach of
// the lists: enough to tell neighbors that are out of the cutoff, in half the memory.
struct Shorts {
  int shift[3];  // of the frame's integers, whose top bits are left out
  // Lengths of one unit of 2^-32 of what is left, in terms of zz.
  float xx, yy, zz, xy, xz, yz;
  float cutoff_squared;  // with a margin for two units of 2^-16 along each edge
  bool tilted;
};
struct alignas(8) Short {
  std::uint32_t yx, z;
};
MM_HD Short short_of(const Shorts& shorts, std::uint32_t x, std::uint32_t y, std::uint32_t z) {
  return {(y << shorts.shift[1] & 0xffff0000u) | x << shorts.shift[0] >> 16,
          z << shorts.shift[2] & 0xffff0000u};
}
template <bool upright>
MM_HD bool maybe_within_cutoff(const Shorts& shorts, const Short& i, const Short& j) {
  const std::uint32_t yx = i.yx - j.yx;  // what is carried into y is within the margin
  const auto a = static_cast<float>(static_cast<std::int32_t>(yx << 16)),
             b = static_cast<float>(static_cast<std::int32_t>(yx)),
             z = static_cast<float>(static_cast<std::int32_t>(i.z - j.z));
  float x = a * shorts.xx, y = b * shorts.yy;
  if (!upright && shorts.tilted) {
    x = fused(b, shorts.xy, fused(z, shorts.xz, x));
    y = fused(z, shorts.yz, y);
  }
  return fused(x, x, fused(y, y, z * z)) < shorts.cutoff_squared;
}

}  // namespace manymove::dpd
