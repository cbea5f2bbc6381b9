// SPDX-License-Identifier: BSD-3-Clause
// The pair potential psi of a periodic box with Ewald's energy (docs/theory/coulomb.md, section 7).
//
// psi is the potential of a unit charge, its images and a uniform background of charge -1 per box,
// surrounded by a conductor: 1 / r for each of the eight images next to a point, and a smooth rest.
// The rest is even about the center of the cell that these images span, and is a polynomial there.
#pragma once

#include <memory>
#include <type_traits>
#include <vector>

#include "../runtime/macros.h"

namespace manymove::coulomb {

// A constant of a scalar or SIMD type.
template <class V, class S>
MM_HD V constant(S c) {
  if constexpr (std::is_same_v<V, S>)
    return c;
  else
    return V{} + c;
}

// What is left of psi without the eight nearest images: a polynomial of three variables s, t and q:
// of the squares of the three coordinates (from -1 to 1 across the cell), the longest edge's first,
// or in a cube of their elementary symmetric functions. It is evaluated by Horner's rule in q, of
// polynomials in t, of lines in s. The coefficients are in the order in which they are used; a line
// has an even number of them, of which the first may be 0.
template <class S>
struct SmoothRest {
  // Each list has an end that is loaded, but not used: two coefficients and a line.
  const S* coefficient;
  const std::uint8_t*
      line;                 // twice the number of pairs of coefficients, plus 1 if q^n ends with it
  int coefficients, lines;  // without the ends
  int longest;              // axis
  bool cubic;
};

// Adds its values at N points with the coordinates a, b and c: several at a time, because each
// waits for its last sum. Each sum of products is fused, because a GPU's compiler would fuse it
// anyway, and a CPU's would not.
template <int N, class S, class V>
MM_HD void add_rest(const SmoothRest<S>& rest, const V (&a)[N], const V (&b)[N], const V (&c)[N],
                    V (&total)[N]) {
  V s[N], t[N], q[N], sum[N], plane[N];
  MM_UNROLL
  for (int n = 0; n < N; ++n) {
    const V u = a[n] * a[n], v = b[n] * b[n], w = c[n] * c[n];
    if (rest.cubic) {
      // u + v + w, u v + (u + v) w and u v w.
      const V two = fused(a[n], a[n], v);
      s[n] = fused(c[n], c[n], two);
      t[n] = fused(u, v, two * w);
      q[n] = u * v * w;
    } else {
      s[n] = rest.longest == 0 ? u : rest.longest == 1 ? v : w;
      t[n] = rest.longest == 1 ? u : v;
      q[n] = rest.longest == 2 ? u : w;
    }
    sum[n] = V{};
    plane[n] = V{};
  }
  const S* next = rest.coefficient;
  S first = next[0], second = next[1];  // of the next pair, loaded before they are needed
  int next_code = rest.line[0];
  MM_NO_UNROLL
  for (int l = 0; l < rest.lines; ++l) {
    const int code = next_code;
    next_code = rest.line[l + 1];
    // A line by Horner's rule in s; then plane = plane t + line, and sum = sum q + plane at its
    // end.
    V line[N];
    MM_UNROLL
    for (int n = 0; n < N; ++n) line[n] = fused(constant<V>(first), s[n], constant<V>(second));
    next += 2;
    first = next[0];
    second = next[1];
    MM_NO_UNROLL
    for (int pairs = code >> 1; pairs > 1; --pairs) {
      MM_UNROLL
      for (int n = 0; n < N; ++n)
        line[n] = fused(fused(line[n], s[n], constant<V>(first)), s[n], constant<V>(second));
      next += 2;
      first = next[0];
      second = next[1];
    }
    MM_UNROLL
    for (int n = 0; n < N; ++n) plane[n] = fused(plane[n], t[n], line[n]);
    if (code & 1) {
      MM_UNROLL
      for (int n = 0; n < N; ++n) {
        sum[n] = fused(sum[n], q[n], plane[n]);
        plane[n] = V{};
      }
    }
  }
  MM_UNROLL
  for (int n = 0; n < N; ++n) total[n] = total[n] + sum[n];
}

// The lists of a SmoothRest.
template <class S>
struct RestTerms {
  std::vector<S> coefficients;
  std::vector<std::uint8_t> lines;
  double error;  // bound of what is left out
};

// The rest terms of one box, in units of 1 / its edges' unit.
struct EwaldBox {
  RestTerms<double> terms;
  RestTerms<float> terms_single;
  int longest;  // axis
  bool cubic;
  double at_origin;  // psi - 1 / r for r = 0: the potential of an ion's own images
  double largest;    // bound of |psi - 1 / r|
};

// Edges in units. The longest is at most twice the shortest; beyond that the errors are larger than
// docs/theory/coulomb.md states.
std::shared_ptr<const EwaldBox> make_ewald_box(const float (&edge)[3]);

}  // namespace manymove::coulomb
