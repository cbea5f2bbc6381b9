// SPDX-License-Identifier: BSD-3-Clause
// Sines and cosines that are the same bits on CPU and GPU.
#pragma once

#include <cstdint>

#include "macros.h"

namespace manymove {

// Cosine and sine of 2 pi phase / 2^32. The polynomials are Taylor's, within an eighth of a turn.
MM_HD void circle_polynomials(float x, float& c, float& s) {
  const float y = x * x;
  c = polynomial(y, 1.0f, -0.5f, 1.0f / 24, -1.0f / 720, 1.0f / 40320);
  s = x * polynomial(y, 1.0f, -1.0f / 6, 1.0f / 120, -1.0f / 5040, 1.0f / 362880);
}
MM_HD void circle_polynomials(double x, double& c, double& s) {
  const double y = x * x;
  c = polynomial(y, 1.0, -1.0 / 2, 1.0 / 24, -1.0 / 720, 1.0 / 40320, -1.0 / 3628800,
                 1.0 / 479001600, -1.0 / 87178291200, 1.0 / 20922789888000);
  s = x * polynomial(y, 1.0, -1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880, -1.0 / 39916800,
                     1.0 / 6227020800, -1.0 / 1307674368000, 1.0 / 355687428096000);
}
template <class F>
MM_HD void unit_circle(std::uint32_t phase, F& c, F& s) {
  // The nearest quarter turn and a remainder of at most an eighth turn.
  const std::uint32_t quarter = (phase + 0x20000000u) >> 30;
  const auto rest = static_cast<std::int32_t>(phase - (quarter << 30));
  F cosine, sine;
  circle_polynomials(static_cast<F>(rest) * F(6.283185307179586477 * 0x1p-32), cosine, sine);
  // Each quarter turns (c, s) to (-s, c).
  c = quarter & 1 ? sine : cosine;
  s = quarter & 1 ? cosine : sine;
  c = ((quarter + 1) & 2) ? -c : c;
  s = quarter & 2 ? -s : s;
}

}  // namespace manymove
