// SPDX-License-Identifier: BSD-3-Clause
// The far field of the method "tree" (docs/theory/coulomb.md, section 8): what a pair at a distance
// contributes by a mesh, and what is left to be summed directly.
//
// Both the cloud that makes the far part smooth and the window that spreads charges on the mesh are
// the function I0(b sqrt(1 - t^2)) - 1 on -1 < t < 1 (Kaiser and Bessel's, continuous at its ends),
// whose Fourier transform is known in closed form. Both are evaluated as the polynomials below.
//
// The potential of a cloud of unit charge whose radius is the reach is F(r) / r, with the charge
// F(r) within r, and 1 / r beyond. So 1 / r = (1 - F(r)) / r + F(r) / r: the first part vanishes at
// the reach and beyond, the second is smooth and comes from the mesh. F(r) / r is even in r, and a
// polynomial of r^2 to 1e-13 over the reach.
#pragma once

#include "model.h"

namespace manymove::coulomb {

inline constexpr int kMostWindow = 14;  // mesh points under a window, along an axis
inline constexpr int kTerms = 30;       // of a polynomial

// A function of v from 0 to 1 as a polynomial of 2 v - 1, the highest power first.
struct Polynomial {
  double coefficient[kTerms];
};
template <class V>
MM_HD V value_of(const Polynomial& p, V v) {
  const V w = fused(v, constant<V>(2.0), constant<V>(-1.0));
  V sum = constant<V>(p.coefficient[0]);
  MM_UNROLL
  for (int k = 1; k < kTerms; ++k) sum = fused(sum, w, constant<V>(p.coefficient[k]));
  return sum;
}

// The far part in float32: polynomials, each over a piece of the squared distance over
// reach^2. A warp that reads different pieces of one coefficient finds each in a memory bank of its
// own.
inline constexpr int kPieces = 32, kPieceTerms = 5;
struct NearTable {
  float coefficient[kPieceTerms][kPieces];  // the constant first, of an argument from -1/2 to 1/2
  // Bound of the error of the short-ranged part, over 1 / r: of this table and of all roundings but
  // those of the sum.
  double error;
};
MM_HD float value_of(const NearTable& t, float v) {
  // Rounded to the nearest integer by the addition; up to 1/2 on both sides.
  // 1.5 * 2^23.
  const float magic = 12582912.0f, scaled = fused(v, static_cast<float>(kPieces), -0.5f);
  const float shifted = scaled + magic;
  const float s = scaled - (shifted - magic);
  const std::uint32_t piece = bits_of(shifted) % kPieces;
  float sum = t.coefficient[kPieceTerms - 1][piece];
  MM_UNROLL
  for (int k = kPieceTerms - 2; k >= 0; --k) sum = fused(sum, s, t.coefficient[k][piece]);
  return sum;
}

// The mesh and the two parts of the pair potential. Lengths in units of the coordinates.
struct MeshRules {
  Polynomial smooth;  // far part of a unit charge, of the squared distance over reach^2
  Polynomial window;  // of the squared distance over the window's squared half width
  double reach;       // the far part is the whole at this distance and beyond
  double inverse_reach2;
  double at_zero;    // far part of an ion's own potential where it is, Ewald's images included
  double origin[3];  // of the mesh
  double per_spacing[3];
  int window_points;    // under the window, along an axis: even, up to kMostWindow
  double per_half;      // 1 over half of that
  int points[3];        // that the windows of ions may touch
  int length[3];        // of the transform: `points` and zeros, or in a periodic box the same
  double charge_magic;  // rounds a charge at a point as Rules::magic rounds a potential
  double charge_unit;   // what the integer 1 of a point stands for
};

// First of the mesh points along an axis that an ion touches, and how far it is from there,
// in spacings.
MM_HD int window_at(const MeshRules& m, int axis, double x, double& lag) {
  const double u = (x - m.origin[axis]) * m.per_spacing[axis];
  const double first = __builtin_floor(u) - (m.window_points / 2 - 1);
  lag = u - first;
  return static_cast<int>(first);
}
// The weight of point l of these.
MM_HD double window_weight(const MeshRules& m, double lag, int l) {
  const double t = (lag - l) * m.per_half;
  return value_of(m.window, t * t);
}
template <int Points>
MM_HD int window_at(const MeshRules& m, int axis, double x, double (&weight)[Points]) {
  double lag;
  const int first = window_at(m, axis, x, lag);
  for (int l = 0; l < Points; ++l) weight[l] = window_weight(m, lag, l);
  return first;
}
// Calls f with the number of points under the window as a compile-time constant.
auto for_window(const MeshRules& m, auto f) {
  return for_constant<10, 12, kMostWindow>(m.window_points, f);
}
// A point of a periodic mesh.
MM_HD int wrapped_point(const MeshRules& m, int axis, int at) {
  const int n = m.length[axis];
  return at < 0 ? at + n : at >= n ? at - n : at;
}
// A charge's share at a mesh point, as an integer: sums without an order.
MM_HD std::int64_t charge_share(const MeshRules& m, double charge, double weight) {
  return static_cast<std::int64_t>(bits_of(fused(charge, weight, m.charge_magic)) -
                                   bits_of(m.charge_magic));
}

// Bound, in quanta, of the error of a trial's estimated change of the potential: `norm` is the
// Euclidean norm of the charges on the mesh, `terms` the number of pair terms that are added, and
// `roundings` how many float64 roundings, each relative to the sum of the terms' magnitudes, they
// go through. The sum of n terms 1 / r of ions that do not overlap is at most nearest + crowd
// n^(2/3).
struct ErrorBound {
  double field;     // of the mesh, and of the rounding of the sum that is estimated
  double per_norm;  // of the transforms' rounding
  double nearest, crowd;
};
MM_HD double error_of(const ErrorBound& e, double norm, double terms, double roundings) {
  // Each rounding is at most 2^-53 of the sum of the magnitudes, nearest + crowd n^(2/3).
  const double root = cbrt(terms);
  return e.field + e.per_norm * norm + 0x1p-53 * roundings * (e.nearest + e.crowd * root * root);
}

// A trial's decision from an estimate e of its change of the potential (in quanta) and a bound b of
// the estimate's error: with the largest change t that is accepted, e + b < t accepts and e - b > t
// rejects as the brush would, whatever the far field is. Otherwise all pairs have to be summed. The
// slack covers the roundings of this comparison; NaN and infinities decide nothing.
enum class Verdict : std::uint8_t { rejected, accepted, unknown };
MM_HD Verdict verdict(double change, double bound, std::int64_t most, float charge) {
  const double signed_change = charge > 0 ? change : -change, limit = static_cast<double>(most);
  const double slack = bound + 0x1p-50 * (abs_of(signed_change) + limit);
  if (signed_change + slack < limit) return Verdict::accepted;
  return signed_change - slack > limit ? Verdict::rejected : Verdict::unknown;
}

}  // namespace manymove::coulomb
