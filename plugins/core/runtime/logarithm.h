// SPDX-License-Identifier: BSD-3-Clause
// The natural logarithm and the exponential from IEEE operations alone, the same bits on every
// machine and device: those of the C library differ from machine to machine.
#pragma once

#include <cmath>

#include "macros.h"

namespace manymove {

// ln(a) for a positive normal number, to a relative error of 1e-15: 2 artanh((m - 1) / (m + 1)).
MM_HD double logarithm(double a) {
  const std::uint64_t bits = bits_of(a);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  double m = as_double((bits & 0xfffffffffffffu) | 0x3ff0000000000000u);
  if (m >= 1.4142135623730951) {
    m = m * 0.5;
    ++exponent;
  }
  // ln a = exponent ln 2 + 2 (s + s^3 / 3 + s^5 / 5 + ...), m in [1 / sqrt(2), sqrt(2)).
  const double s = (m - 1) / (m + 1);
  const double p = polynomial(s * s, 1.0, 1.0 / 3, 1.0 / 5, 1.0 / 7, 1.0 / 9, 1.0 / 11, 1.0 / 13,
                              1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21, 1.0 / 23);
  return fused(static_cast<double>(exponent), 0.6931471805599453, 2 * s * p);
}

// exp x to a relative error of a few 1e-16: 2^n exp r with r = x - n ln 2. No step can be
// contracted.
MM_HD double exponential(double x) {
  const double n = std::nearbyint(x * 1.4426950408889634);
  // ln 2 is the sum of two doubles.
  const double r = fused(n, -2.3190468138462996e-17, fused(n, -0.69314718055994531, x));
  // Taylor's series ends below the rounding, because |r| < 0.35.
  double sum = 1, term = 1;
  for (int k = 1; k < 18; ++k) {
    term = mul_rn(term, r / k);
    sum += term;
  }
  return std::ldexp(sum, static_cast<int>(n));
}

}  // namespace manymove
