// SPDX-License-Identifier: BSD-3-Clause
// The pair potential psi of a periodic box with Ewald's energy (docs/theory/coulomb.md, section 7).
//
// psi is the potential of a unit charge, its images and a uniform background of charge -1 per box,
// surrounded by a conductor: 1 / r for each of the eight images next to a point, and a smooth rest.
// The rest is even about the center of the cell that these images span, and is a polynomial there.
#pragma once

#include <memory>
#include <vector>

#include "../runtime/macros.h"

namespace manymove::coulomb {

// A polynomial of three variables: of the squares of the three coordinates (from -1 to 1 across the
// cell), or in a cube of their elementary symmetric functions. Its coefficients are in the order in
// which they are used.
template <class S>
struct SmoothRest {
  const S* coefficient;
  int degree;
  bool cubic;
};

// At the coordinates a, b and c. Each sum of products is fused, because a GPU's compiler would
// fuse it anyway, and a CPU's would not.
template <class S, class V>
MM_HD V evaluate(const SmoothRest<S>& rest, V a, V b, V c) {
  const V u = a * a, v = b * b, w = c * c;
  V s = u, t = v, q = w;
  if (rest.cubic) {
    const V two = fused(a, a, v);
    s = fused(c, c, two);
    t = fused(u, v, two * w);
    q = u * v * w;
  }
  const int second = rest.cubic ? 2 : 1, third = rest.cubic ? 3 : 1;
  const S* next = rest.coefficient;
  V sum{};
  for (int k = rest.degree / third; k >= 0; --k) {
    V plane{};
    for (int left = rest.degree - third * k, j = left / second; j >= 0; --j) {
      V line = V{} + *next++;
      for (int i = left - second * j; i > 0; --i) line = fused(line, s, V{} + *next++);
      plane = fused(plane, t, line);
    }
    sum = fused(sum, q, plane);
  }
  return sum;
}

// Of one box, in units of 1 / its edges' unit.
struct EwaldBox {
  std::vector<double> coefficients;
  std::vector<float> coefficients_single;
  int degree, degree_single;
  bool cubic;
  double error, error_single;  // bounds of the polynomials' errors
  double at_origin;            // psi - 1 / r for r = 0: the potential of an ion's own images
  double largest;              // bound of |psi - 1 / r|
};

// Edges in units. The longest is at most twice the shortest; beyond that the errors are larger than
// docs/theory/coulomb.md states.
std::shared_ptr<const EwaldBox> make_ewald_box(const float (&edge)[3]);

}  // namespace manymove::coulomb
