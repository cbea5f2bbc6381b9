// SPDX-License-Identifier: BSD-3-Clause
// Discrete Fourier transforms of lines whose length is 2^a 3^b 5^c, by Stockham's order: stage
// after stage, from one array to another, and no bit reversal. A butterfly serves CPU and GPU; V is
// a number or the lanes of a SIMD register, one line each.
#pragma once

#include <cmath>
#include <utility>
#include <vector>

#include "macros.h"

namespace manymove {

// A number of V.
template <class V>
struct NumberOf {
  using type = V;
};
template <class V>
  requires requires(V v) { v[0]; }
struct NumberOf<V> {
  using type = std::remove_reference_t<decltype(std::declval<V&>()[0])>;
};
template <class V>
using Number = typename NumberOf<V>::type;

template <class V>
struct alignas(alignof(V) < 16 ? 2 * sizeof(V) : alignof(V)) Complex {
  V re, im;

  MM_HD Complex operator+(const Complex& o) const { return {re + o.re, im + o.im}; }
  MM_HD Complex operator-(const Complex& o) const { return {re - o.re, im - o.im}; }
  MM_HD Complex operator*(Number<V> factor) const { return {re * factor, im * factor}; }
};

struct FftPlan {
  int length;
  int stages;
  int radix[24];
};
// Radices of 4 first, so that few stages do.
inline FftPlan fft_plan(int length) {
  FftPlan plan{length, 0, {}};
  int rest = length;
  for (const int radix : {4, 5, 3, 2})
    for (; rest % radix == 0; rest /= radix) plan.radix[plan.stages++] = radix;
  return plan;
}
// The plan with the fewest stages of radices of dft_of(), and the smallest radices of those: for
// GPUs, whose stages end with a barrier, and for what has their bits. Larger radices than 8 in
// double precision, or 12 in single precision, need more registers, so that fewer blocks share a
// multiprocessor.
inline FftPlan wide_fft_plan(int length, bool single = false) {
  FftPlan best{length, 25, {}};
  FftPlan plan{length, 0, {}};
  const auto extend = [&](const auto& self, int rest, int largest) -> void {
    if (rest == 1) {
      if (plan.stages < best.stages ||
          (plan.stages == best.stages && plan.radix[0] < best.radix[0]))
        best = plan;
      return;
    }
    if (plan.stages + 1 >= 24) return;
    // Radices never grow, so that each product of radices is tried once.
    for (const int radix : {12, 10, 9, 8, 6, 5, 4, 3, 2}) {
      if (radix > largest || rest % radix != 0) continue;
      plan.radix[plan.stages++] = radix;
      self(self, rest / radix, radix);
      --plan.stages;
    }
  };
  extend(extend, length, single ? 12 : 8);
  return best;
}
inline bool fft_length(int n) {
  for (const int prime : {2, 3, 5})
    while (n % prime == 0) n /= prime;
  return n == 1;
}

// exp(-2 pi i j / length) for j below length.
inline std::vector<Complex<double>> fft_twiddles(int length) {
  std::vector<Complex<double>> twiddles;
  for (int j = 0; j < length; ++j) {
    const double angle = -2 * 3.14159265358979323846 * j / length;
    twiddles.push_back({std::cos(angle), std::sin(angle)});
  }
  return twiddles;
}

template <class V, class Twiddle>
MM_HD Complex<V> turned(const Complex<V>& a, const Twiddle& by) {
  const auto re = static_cast<Number<V>>(by.re), im = static_cast<Number<V>>(by.im);
  return {a.re * re - a.im * im, a.re * im + a.im * re};
}

// The transform of R numbers, forward.
// X_k = sum over j of x_j exp(-2 pi i j k / R), written out: no product by 1 or i remains.
template <int R, class V>
MM_HD void dft(Complex<V> (&a)[R]) {
  // X_k and X_(R-k) share all products: cosines go with sums of x_j and x_(R-j), sines with their
  // differences.
  if constexpr (R == 2) {
    const Complex<V> b = a[1];
    a[1] = a[0] - b;
    a[0] = a[0] + b;
  } else if constexpr (R == 3) {
    // sin(2 pi / 3); the cosine is -1/2.
    constexpr Number<V> s = 0.86602540378443864676;
    const Complex<V> sum = a[1] + a[2], difference = (a[1] - a[2]) * s, mid = a[0] - sum * 0.5;
    a[0] = a[0] + sum;
    a[1] = {mid.re + difference.im, mid.im - difference.re};
    a[2] = {mid.re - difference.im, mid.im + difference.re};
  } else if constexpr (R == 4) {
    const Complex<V> s = a[0] + a[2], d = a[0] - a[2], t = a[1] + a[3], e = a[1] - a[3];
    a[0] = s + t;
    a[1] = {d.re + e.im, d.im - e.re};
    a[2] = s - t;
    a[3] = {d.re - e.im, d.im + e.re};
  } else {
    static_assert(R == 5);
    // Cosines and sines of 2 pi / 5 and 4 pi / 5.
    constexpr Number<V> c1 = 0.30901699437494742410, c2 = -0.80901699437494742410,
                        s1 = 0.95105651629515357212, s2 = 0.58778525229247312917;
    const Complex<V> p = a[1] + a[4], m = a[1] - a[4], q = a[2] + a[3], n = a[2] - a[3];
    const Complex<V> x = a[0] + p * c1 + q * c2, y = a[0] + p * c2 + q * c1, u = m * s1 + n * s2,
                     w = m * s2 - n * s1;
    a[0] = a[0] + p + q;
    a[1] = {x.re + u.im, x.im - u.re};
    a[4] = {x.re - u.im, x.im + u.re};
    a[2] = {y.re + w.im, y.im - w.re};
    a[3] = {y.re - w.im, y.im + w.re};
  }
}

// The same for more numbers: a radix R = P Q is Q transforms of P numbers, the factors exp(-2 pi i
// p q / R), and P transforms of Q numbers.
template <int R, class V, class Twiddle>
MM_HD void dft_of(const Twiddle* twiddle, int length, Complex<V> (&a)[R]) {
  constexpr int P = R == 6 || R == 9 ? 3 : R == 8 || R == 12 ? 4 : R == 10 ? 5 : R, Q = R / P;
  if constexpr (Q == 1) {
    dft(a);
  } else {
    // a_(Qp + q): part q is the transform over p of every Q-th number, from q on.
    Complex<V> part[Q][P];
    MM_UNROLL for (int q = 0; q < Q; ++q) {
      MM_UNROLL for (int p = 0; p < P; ++p) part[q][p] = a[p * Q + q];
      dft(part[q]);
      if (q == 0) continue;
      MM_UNROLL for (int p = 1; p < P; ++p) {
        // twiddle[k] = exp(-2 pi i k / length), so that this is exp(-2 pi i p q / R).
        part[q][p] = turned(part[q][p], twiddle[p * q * (length / R)]);
      }
    }
    MM_UNROLL for (int p = 0; p < P; ++p) {
      Complex<V> line[Q];
      MM_UNROLL for (int q = 0; q < Q; ++q) line[q] = part[q][p];
      dft(line);
      MM_UNROLL for (int q = 0; q < Q; ++q) a[p + P * q] = line[q];
    }
  }
}

// Two lines of reals a and b in one transform. together(a, b) is a + i b; apart() gives the
// transforms of both at k from that of a + i b at k and at length - k.
template <class V>
MM_HD Complex<V> together(const Complex<V>& a, const Complex<V>& b) {
  return {a.re - b.im, a.im + b.re};
}
template <class V>
MM_HD Complex<V> conjugate(const Complex<V>& a) {
  return {a.re, -a.im};
}
template <class V>
MM_HD void apart(const Complex<V>& at_k, const Complex<V>& mirrored, Complex<V>& a, Complex<V>& b) {
  a = (at_k + conjugate(mirrored)) * 0.5;
  const Complex<V> difference = (at_k - conjugate(mirrored)) * 0.5;
  b = {difference.im, -difference.re};
}

// A stage of Stockham's order has length / R butterflies: number t takes t + k length / R, and
// gives to fft_place() + k `done`, the product of the radices before. step: t, rounded down to a
// multiple of `done`. twiddle[j] is exp(-2 pi i j / length).
MM_HD int fft_place(int radix, int step, int t) { return t + step * (radix - 1); }
template <int R, class V, class Twiddle>
MM_HD void butterfly(Complex<V> (&a)[R], int length, int step, const Twiddle* twiddle) {
  dft_of<R>(twiddle, length, a);
  MM_UNROLL for (int k = 1; k < R; ++k) { a[k] = turned(a[k], twiddle[step * k]); }
}

}  // namespace manymove
