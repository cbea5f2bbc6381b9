// SPDX-License-Identifier: BSD-3-Clause
// Transforms of lines on a core, one in each lane of SIMD registers. Include it after vec.h, where
// the level is known.
#pragma once

#include <utility>

#include "fft.h"
#include "vec.h"

namespace manymove {
inline namespace MANYMOVE_SIMD {
namespace {

using Lines = Complex<DoubleLanes>;
using SingleLines = Complex<HalfLanes>;

template <int R, class Lines>
void fft_stage(int length, int done, const Complex<double>* twiddle, const Lines* from, Lines* to) {
  const int apart = length / R;
  for (int t = 0; t < apart; ++t) {
    Lines a[R];
    for (int k = 0; k < R; ++k) a[k] = from[t + k * apart];
    const int step = t / done * done, place = fft_place(R, step, t);
    butterfly(a, length, step, twiddle);
    for (int k = 0; k < R; ++k) to[place + k * done] = a[k];
  }
}

// From `a`. Returns where the result is: `a` or `b`.
template <class Lines>
Lines* transform_lines(const FftPlan& plan, const Complex<double>* twiddle, Lines* a, Lines* b) {
  int done = 1;
  for (int s = 0; s < plan.stages; ++s) {
    for_constant<2, 3, 4, 5, 6, 9, 10, 12, 8>(
        plan.radix[s], [&](auto radix) { fft_stage<radix()>(plan.length, done, twiddle, a, b); });
    done *= plan.radix[s];
    std::swap(a, b);
  }
  return a;
}

}  // namespace
}  // namespace MANYMOVE_SIMD
}  // namespace manymove
