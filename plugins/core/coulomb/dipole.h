// SPDX-License-Identifier: BSD-3-Clause
// The dipole moment of the ions in a periodic box with a vacuum around its images, and the energy
// 2 pi l_B M^2 / 3 V that it has there (docs/theory/coulomb.md, section 7).
#pragma once

#include "model.h"

namespace manymove::coulomb {

// The sum of valence times unwrapped coordinate, in units, each term rounded to an integer: float64
// holds the sum exactly, whatever the order.
struct Dipole {
  double x, y, z;
};

MM_HD Dipole operator+(const Dipole& a, const Dipole& b) {
  return {a.x + b.x, a.y + b.y, a.z + b.z};
}

// An ion's share; `image` counts the boxes it has gone ahead, [3].
MM_HD double dipole_along(const Rules& r, int axis, float charge, float at, int image) {
  const double unwrapped =
      fused(static_cast<double>(image), static_cast<double>(r.extent[axis]), double{at});
  // z (x + n L) of this ion, rounded to an integer alone: sums are exact in any order.
  return static_cast<double>(nearest_integer(charge * unwrapped));
}
MM_HD Dipole dipole_of(const Rules& r, const Site& at, const std::int32_t* image) {
  return {dipole_along(r, 0, at.charge, at.x, image[0]),
          dipole_along(r, 1, at.charge, at.y, image[1]),
          dipole_along(r, 2, at.charge, at.z, image[2])};
}
// What the dipole moment gains when an ion moves.
MM_HD Dipole dipole_gain(const Rules& r, const Site& from, const Site& to,
                         const std::int32_t* image) {
  const std::int32_t then[3] = {image[0] + crossed(r, 0, from.x, to.x),
                                image[1] + crossed(r, 1, from.y, to.y),
                                image[2] + crossed(r, 2, from.z, to.z)};
  const Dipole before = dipole_of(r, from, image), after = dipole_of(r, to, then);
  return {after.x - before.x, after.y - before.y, after.z - before.z};
}
// The ion has moved.
MM_HD void follow(const Rules& r, const Site& from, const Site& to, std::int32_t* image) {
  const float before[3] = {from.x, from.y, from.z}, now[3] = {to.x, to.y, to.z};
  for (int a = 0; a < 3; ++a)
    if (const int ahead = crossed(r, a, before[a], now[a])) image[a] += ahead;
}

// The change of M^2.
MM_HD double change_of_square(const Dipole& dipole, const Dipole& gain) {
  // |M + m|^2 - |M|^2 = m (2 M + m), in which nothing large cancels.
  return fused(2 * dipole.x + gain.x, gain.x,
               fused(2 * dipole.y + gain.y, gain.y, (2 * dipole.z + gain.z) * gain.z));
}
// What the vacuum adds to the change of a charge's potential. The limit, which no chain comes to,
// leaves room for the pair terms.
MM_HD std::int64_t dipole_term(const Rules& r, float charge, const Dipole& dipole,
                               const Dipole& gain) {
  const double limit = 0x1p61;
  // Over the charge, because decisions multiply a change of the potential by it.
  const double change = r.vacuum / charge * change_of_square(dipole, gain);
  return nearest_integer(change > limit ? limit : change < -limit ? -limit : change);
}

}  // namespace manymove::coulomb
