// SPDX-License-Identifier: BSD-3-Clause
// Rigid molecules of several sites with charges, in cells of any shape: the physics, the same for
// every backend. The equations and the proofs are in docs/theory/molecules.md.
//
// A molecule is a center (integers, as in model.h) and a unit quaternion (doubles). Its sites are
// rounded to integers as well, so that every energy is a function of integers. Sources that include
// this are compiled without contraction of products and sums.
#pragma once

#include "../../runtime/circle.h"
#include "../model.h"
#include "mesh.h"

namespace manymove::adsorption {

inline constexpr int kMostTypes = 16;  // of sites, of all species together
inline constexpr int kMostSites = 8;   // of a molecule

// Rotation by q v q*, with |q| = 1.
struct Quaternion {
  double w, x, y, z;
};

struct Pose {
  Site center;
  Quaternion turn;
};

MM_HD Site center_of(const Pose& p) { return p.center; }

template <class F>
struct Body {
  int count;
  int type[kMostSites];
  double offset[kMostSites][3];  // from the center, angstrom, without rotation
  F reach;                       // the largest distance of a site from the center
  double twist;                  // largest component of the vector part of a rotation
  double own;        // energy of a molecule without others: self, intramolecular, tail corrections
  F with_framework;  // the tail correction with the framework, a part of it
  int first_site;    // of this species' sites in a system's arrays: [site][slot of the species]
};

inline constexpr double kElementary = 408.8;  // e in units of MoleculeModel::charge

// The site at the center of a molecule, or -1.
template <class F>
MM_HD int site_at_center(const Body<F>& body) {
  for (int s = 0; s < body.count; ++s)
    if (body.offset[s][0] == 0 && body.offset[s][1] == 0 && body.offset[s][2] == 0) return s;
  return -1;
}

// Waves (x, y, z), (x + 1, y, z), ... of half of the reciprocal lattice.
struct WaveRow {
  std::int32_t x, y, z, count, first;
};

template <class F>
struct MoleculeModel {
  Model<F> m;              // its grid has the types of sites in place of species
  F edges[6];              // xx, xy, xz, yy, yz, zz: edges of the box (columns) over 2^32
  double to_fractions[6];  // the inverse, times 2^32
  F widths[3];             // between opposite faces of the box, over 2^32
  bool skewed, charged, framework;
  Body<F> body[kMostSpecies];
  int types;
  bool felt[kMostTypes];      // the framework acts on this type
  F charge[kMostTypes];       // e times the square root of Coulomb's constant
  const PairLaw<F>* laws;     // [types][types]
  F cutoff, cutoff2, inner2;  // opposite charges are not closer than the square root of inner2
  F alpha;                    // Ewald's parameter, 1 / angstrom
  double tail[kMostSpecies][kMostSpecies];  // of two molecules, anywhere
  int rows, waves;
  const WaveRow* row;    // [rows]
  const F* wave_weight;  // [waves]
  MeshModel<F> mesh;
};

template <class F>
MM_HD bool has_charges(const MoleculeModel<F>& r, const Body<F>& body) {
  bool some = false;
  for (int i = 0; i < body.count; ++i) some |= r.charge[body.type[i]] != F(0);
  return some;
}

// ---- elementary functions ----

// erfc(x) for x from 0 to 7. In float a polynomial up to 3.9, where erfc is 3e-8, with an absolute
// error of 2e-7. In double e^(-x^2) times a polynomial of (x - k) / (x + k), fitted to
// (1 + 2 x) e^(x^2) erfc(x), with a relative error of 4e-16 times (1 + x^2).
MM_HD float erfc_of(float x) {
  const float z = fused(min_of(x, 3.9f), 1 / 1.95f, -1.0f);
  return polynomial(z, 0.00582059957f, -0.04910171814f, 0.1867136464f, -0.4109960458f,
                    0.5446581819f, -0.360755765f, -0.09433741957f, 0.4362888621f, -0.3405177502f,
                    -0.05824748049f, 0.2800024627f, -0.113960445f, -0.09550100807f, 0.0710700156f,
                    0.01316127904f, -0.01429747891f);
}
MM_HD double erfc_of(double x) {
  // x = 4 maps to 0, and the range from 0 to 7 to the interval from -1 to 0.27, where the
  // polynomial converges fast.
  const double t = (x - 4) / (x + 4);
  const double p =
      polynomial(t, 1.232995118625552509, -0.13962111684056250603, 0.015379652102620053423,
                 0.068097054254691589911, -0.10103906603632684138, 0.093732834998390283597,
                 -0.066330365811554801102, 0.037167515537056926841, -0.016197734067927646942,
                 0.0050319699720027453588, -0.00075777321454893888899, -0.00019925652283458756161,
                 0.00015062174099848154322, -0.000024400099532898613369,
                 -0.000011226417891547597558, 5.7024698908824044977e-6, 3.0236793892835354288e-7,
                 -7.700195716973313939e-7, 1.7417995779354670791e-7, 2.0129407007874587378e-7,
                 2.3409368391026089664e-8, -1.0624162290658118775e-8, -2.4587478543261134867e-9);
  return exponential(-(x * x)) * p / (1 + 2 * x);
}

// The square root of normal numbers, rounded to nearest, and a quotient.
MM_HD float root(float x) {
#if defined(__CUDA_ARCH__)
  float guess;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(guess) : "f"(x));
  const float g = __fmul_rn(x, guess), h = __fmul_rn(0.5f, guess);
  return __fmaf_rn(__fmaf_rn(-g, g, x), h, g);
#else
  return square_root(x);
#endif
}
MM_HD double root(double x) { return square_root(x); }
MM_HD float quotient(float a, float b) { return a * reciprocal(b); }
MM_HD double quotient(double a, double b) { return a / b; }

// ---- the framework ----

template <class F>
MM_CALL F field_of_site(const MoleculeModel<F>& r, int type, const Site& at) {
  return r.framework && r.felt[type] ? framework_energy(r.m, type, at) : F(0);
}

// ---- poses ----

// Every sum of products is written with fused(): a compiler that forms it by itself, which GCC's
// vectorizer does in spite of -ffp-contract=off, cannot change the rounding.
MM_HD Quaternion product(const Quaternion& a, const Quaternion& b) {
  return {fused(a.w, b.w, -fused(a.x, b.x, fused(a.y, b.y, a.z * b.z))),
          fused(a.w, b.x, fused(a.x, b.w, fused(a.y, b.z, -(a.z * b.y)))),
          fused(a.w, b.y, fused(a.y, b.w, fused(a.z, b.x, -(a.x * b.z)))),
          fused(a.w, b.z, fused(a.z, b.w, fused(a.x, b.y, -(a.y * b.x))))};
}
MM_HD Quaternion normalized(const Quaternion& q) {
  const double scale =
      1 / square_root(fused(q.w, q.w, fused(q.x, q.x, fused(q.y, q.y, q.z * q.z))));
  return {q.w * scale, q.x * scale, q.y * scale, q.z * scale};
}

// A small rotation: (1, v) normalized, where v is uniform in a cube, so that a rotation and its
// inverse (1, -v) are exactly as likely.
MM_HD double twist_component(std::uint32_t word, double twist) {
  const auto odd = static_cast<std::int32_t>(word | 1u);
  return static_cast<double>(odd) * 0x1p-31 * twist;
}
MM_CALL Quaternion small_rotation(const std::uint32_t* word, double twist) {
  return normalized({1, twist_component(word[0], twist), twist_component(word[1], twist),
                     twist_component(word[2], twist)});
}

// Uniform over all rotations (K. Shoemake, Graphics Gems III, p. 124).
MM_CALL Quaternion any_rotation(const std::uint32_t* word) {
  // Shoemake: (sqrt(u) cos, sqrt(1 - u) sin, sqrt(1 - u) cos, sqrt(u) sin) of two uniform angles.
  const double u = uniform(word[0]), a = square_root(1 - u), b = square_root(u);
  double c1, s1, c2, s2;
  unit_circle(word[1], c1, s1);
  unit_circle(word[2], c2, s2);
  return normalized({b * c2, a * s1, a * c1, b * s2});
}

struct Matrix {
  double r[3][3];
};
MM_HD Matrix matrix_of(const Quaternion& q) {
  // R = 1 - 2 (y^2 + z^2), 2 (x y - z w), ...: the matrix of v -> q v q*.
  const double x = 2 * q.x, y = 2 * q.y, z = 2 * q.z;
  return {
      {{fused(-y, q.y, fused(-z, q.z, 1.0)), fused(x, q.y, -(z * q.w)), fused(x, q.z, y * q.w)},
       {fused(x, q.y, z * q.w), fused(-x, q.x, fused(-z, q.z, 1.0)), fused(y, q.z, -(x * q.w))},
       {fused(x, q.z, -(y * q.w)), fused(y, q.z, x * q.w), fused(-x, q.x, fused(-y, q.y, 1.0))}}};
}

// The nearest integer modulo 2^32, of numbers below 2^51.
MM_HD std::uint32_t nearest_word(double value) {
  return static_cast<std::uint32_t>(bits_of(value + 6755399441055744.0));  // 1.5 * 2^52
}

// The center, plus a rotated offset in fractions of the box.
template <class F>
MM_HD Site site_from(const MoleculeModel<F>& m, const Site& center, const Matrix& turn,
                     const double* o) {
  double v[3];
  for (int a = 0; a < 3; ++a)
    v[a] = fused(turn.r[a][0], o[0], fused(turn.r[a][1], o[1], turn.r[a][2] * o[2]));
  const double* f = m.to_fractions;
  return {center.x + nearest_word(fused(f[0], v[0], fused(f[1], v[1], f[2] * v[2]))),
          center.y + nearest_word(fused(f[3], v[1], f[4] * v[2])),
          center.z + nearest_word(f[5] * v[2])};
}
// Site s of a molecule.
template <class F>
MM_HD Site site_of(const MoleculeModel<F>& m, const Body<F>& body, const Site& center,
                   const Matrix& turn, int s) {
  return site_from(m, center, turn, body.offset[s]);
}

// ---- pairs ----

// Squared distance of the nearest image in a box whose smallest width is twice the cutoff: where
// the distance is below the cutoff, the difference along each edge is below half of it.
template <bool Skewed, class F>
MM_HD F squared_distance(const MoleculeModel<F>& m, std::uint32_t x, std::uint32_t y,
                         std::uint32_t z) {
  const F fx = static_cast<F>(static_cast<std::int32_t>(x)),
          fy = static_cast<F>(static_cast<std::int32_t>(y)),
          fz = static_cast<F>(static_cast<std::int32_t>(z));
  F dx = m.edges[0] * fx, dy = m.edges[3] * fy;
  const F dz = m.edges[5] * fz;
  if constexpr (Skewed) {
    dx = fused(m.edges[1], fy, fused(m.edges[2], fz, dx));
    dy = fused(m.edges[4], fz, dy);
  }
  return fused(dz, dz, fused(dy, dy, dx * dx));
}
template <class F>
MM_HD F squared_distance(const MoleculeModel<F>& m, const Site& a, const Site& b) {
  const std::uint32_t x = a.x - b.x, y = a.y - b.y, z = a.z - b.z;
  return m.skewed ? squared_distance<true>(m, x, y, z) : squared_distance<false>(m, x, y, z);
}

// How far a place is along an axis from those that are at most `half` away from a center.
MM_HD std::uint32_t beyond(std::uint32_t place, std::uint32_t center, std::uint32_t half) {
  const std::uint32_t d = place - center, size = d >> 31 ? 0u - d : d;
  return size > half ? size - half : 0u;
}

// Whether the nearest images of a place and one of those around a center may be closer than a
// distance; true if they are. In a skewed box the distance above is that of the nearest image only
// up to half of the smallest width, but no image is closer than along the normal of a face.
template <class F>
MM_HD bool may_be_within(const MoleculeModel<F>& m, F limit, const Site& place, const Site& center,
                         const Site& half) {
  const std::uint32_t apart[3] = {beyond(place.x, center.x, half.x),
                                  beyond(place.y, center.y, half.y),
                                  beyond(place.z, center.z, half.z)};
  if (!m.skewed) return squared_distance<false>(m, apart[0], apart[1], apart[2]) < limit * limit;
  bool near = true;
  for (int e = 0; e < 3; ++e)
    near &= abs_of(static_cast<F>(static_cast<std::int32_t>(apart[e])) * m.widths[e]) < limit;
  return near;
}

// Lennard-Jones and the real-space part of Ewald's sum, q_i q_j erfc(alpha r) / r. qq = q_i q_j.
// Opposite charges that come closer than the inner cutoff are forbidden: without a core their
// energy would have no lower bound.
template <bool Charged, class F>
MM_HD F site_energy(const MoleculeModel<F>& m, const PairLaw<F>& law, F qq, F r2) {
  F u = lennard_jones(law, r2);
  if constexpr (Charged) {
    const F r = root(max_of(r2, F(0.01)));
    // q_i q_j erfc(alpha r) / r, the first sum of section 5 of docs/theory/molecules.md.
    u = fused(qq, quotient(erfc_of(min_of(m.alpha * r, F(7))), r), u);
    u = qq < F(0) && r2 < m.inner2 ? F(kForbidden) : u;
  }
  return r2 < m.cutoff2 ? u : F(0);
}

// The electrostatic potential of an atom of the framework: 1 / r - erf(alpha r) / r beyond 1
// angstrom; within, 1 / r gives way to a polynomial with the same value and two derivatives there.
MM_HD double image_potential(double alpha, double r2) {
  const double r = square_root(max_of(r2, 1e-6));
  const double screened = erfc_of(min_of(alpha * r, 7.0));
  // (15 - 10 r^2 + 3 r^4) / 8, which has the value and two derivatives of 1 / r at 1.
  const double soft = fused(r2, fused(r2, 0.375, -1.25), 1.875);
  return r < 1 ? soft - (1 - screened) / r : screened / r;
}

}  // namespace manymove::adsorption
