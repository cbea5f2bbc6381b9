// SPDX-License-Identifier: BSD-3-Clause
// The natural logarithm from IEEE operations alone, the same bits on every machine and device: that
// of the C library differs from machine to machine.
#pragma once

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

}  // namespace manymove
