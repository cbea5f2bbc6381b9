// SPDX-License-Identifier: BSD-3-Clause
// Linear chains of united atoms with fixed bonds, harmonic bends and torsions by a cosine series:
// the physics, the same for every backend. The equations and the proofs are in
// docs/theory/open_systems.md.
//
// A chain is a pose, as a rigid molecule is, and the offsets of its beads from the center without
// rotation, in doubles. The center is its middle bead. Offsets change only by growth, in which each
// bead is placed relative to its neighbor, so that bonds keep their length to the last bits.
#pragma once

#include "model.h"

namespace manymove::adsorption {

inline constexpr int kAngleCells = 1024;           // of an angle's range
inline constexpr std::uint32_t kMostTries = 8192;  // of a rejection that accepts nearly always

// Angles are drawn by rejection. A cell of the range is drawn in proportion to an upper bound of
// the density in it, by the alias method (A. J. Walker, ACM Trans. Math. Softw. 3, 253 (1977)).
struct AngleCell {
  std::uint32_t below, alias;  // the cell is drawn, or its alias
  double bound;
};
struct AngleTable {
  bool torsion;   // with an angle from 0 to 2 pi; a bend has one from 0 to pi
  double law[4];  // a polynomial of the cosine, or stiffness / 2 and the angle
  double lowest;  // energy of a torsion, which the density is relative to
  AngleCell cell[kAngleCells];
};

struct ChainBody {
  int middle;                   // the bead that is the center
  double bond[kMostSites - 1];  // lengths, angstrom
  int bend[kMostSites - 2];     // tables; the bend at bead i + 1
  int torsion[kMostSites - 3];  // tables; the torsion of beads i to i + 3
  double weight, energy;        // those of IdealChain
};
struct ChainModel {
  int sites;  // largest number of a molecule; 0 where molecules are rigid
  double beta;
  const AngleTable* table;
  ChainBody of[kMostSpecies];
};

// ---- vectors ----

struct Vector {
  double x, y, z;
};
MM_HD double dot(const Vector& a, const Vector& b) {
  return fused(a.x, b.x, fused(a.y, b.y, a.z * b.z));
}
// a + t b
MM_HD Vector along(const Vector& a, double t, const Vector& b) {
  return {fused(t, b.x, a.x), fused(t, b.y, a.y), fused(t, b.z, a.z)};
}
MM_HD Vector cross(const Vector& a, const Vector& b) {
  return {fused(a.y, b.z, -(a.z * b.y)), fused(a.z, b.x, -(a.x * b.z)),
          fused(a.x, b.y, -(a.y * b.x))};
}
MM_HD Vector scaled(const Vector& a, double t) { return {t * a.x, t * a.y, t * a.z}; }
MM_HD Vector unit(const Vector& a) { return scaled(a, 1 / square_root(max_of(dot(a, a), 1e-24))); }
MM_HD Vector bead_of(const auto& shape, int i) {
  return {shape[3 * i], shape[3 * i + 1], shape[3 * i + 2]};
}
// From bead i to bead j.
MM_HD Vector between_beads(const auto& shape, int i, int j) {
  return along(bead_of(shape, j), -1, bead_of(shape, i));
}

// ---- energies ----

// The series of the arc sine over x, of x^2 up to 1/4; its error is below 1e-15.
MM_HD double arc_sine_series(double y) {
  return polynomial(y, 1.0, 0.16666666666666666, 0.075, 0.044642857142857144, 0.030381944444444444,
                    0.022372159090909092, 0.017352764423076924, 0.01396484375, 0.011551800896139705,
                    0.009761609529194078, 0.008390335809616815, 0.0073125258735988454,
                    0.006447210311889649, 0.005740037670841924, 0.005153309682319905,
                    0.004660143486915096, 0.004240907093679363, 0.003880964558837669,
                    0.0035692053938259347, 0.003297059503473485, 0.0030578216492580306,
                    0.002846178401108942);
}
// The arc cosine minus an angle.
MM_HD double beyond_angle(double c, double angle) {
  constexpr double kHalf = 1.57079632679489661923;
  const double size = min_of(abs_of(c), 1.0);
  if (size < 0.5) return fused(-c, arc_sine_series(c * c), kHalf - angle);
  const double half = 0.5 * (1 - size);  // the square of the sine of half of the angle
  const double both = 2 * square_root(half), series = arc_sine_series(half);
  return c < 0 ? fused(-both, series, 2 * kHalf - angle) : fused(both, series, -angle);
}

// The density of an angle, which is a phase in units of 2 pi / 2^32: exp(-beta u), and for a bend
// the sine, by which directions in space are uniform.
MM_HD double angle_density(const AngleTable& t, double beta, std::uint32_t phase, double& c,
                           double& s) {
  unit_circle(phase, c, s);
  if (t.torsion) {
    const double above = polynomial(c, t.law[0] - t.lowest, t.law[1], t.law[2], t.law[3]);
    return exponential(-(beta * above));
  }
  const double beyond =
      fused(static_cast<double>(phase), 6.283185307179586477 * 0x1p-32, -t.law[1]);
  return exponential(-(beta * t.law[0]) * (beyond * beyond)) * max_of(s, 0.0);
}

// Energy of all bends and torsions of a chain of n beads; shape: [n][3].
MM_CALL double bonded_energy(const ChainModel& m, int species, int n, const auto& shape) {
  const ChainBody& body = m.of[species];
  double sum = 0;
  for (int i = 0; i + 2 < n; ++i) {
    const Vector a = between_beads(shape, i + 1, i), b = between_beads(shape, i + 1, i + 2);
    const double cosine = dot(a, b) / (body.bond[i] * body.bond[i + 1]);
    const AngleTable& t = m.table[body.bend[i]];
    // k / 2 (theta - theta_0)^2, where law[0] is k / 2.
    const double beyond = beyond_angle(cosine, t.law[1]);
    sum = fused(t.law[0] * beyond, beyond, sum);
  }
  for (int i = 0; i + 3 < n; ++i) {
    const Vector axis = unit(between_beads(shape, i + 1, i + 2));
    const Vector a = between_beads(shape, i + 1, i), b = between_beads(shape, i + 2, i + 3);
    const Vector u = unit(along(a, -dot(a, axis), axis)), v = unit(along(b, -dot(b, axis), axis));
    const double* const law = m.table[body.torsion[i]].law;
    // Eq. 9 of the theory as a polynomial of cos phi; phi is the angle between the two outer bonds
    // across the axis.
    sum += polynomial(dot(u, v), law[0], law[1], law[2], law[3]);
  }
  return sum;
}

// ---- draws ----

// The numbers of the random words of a growth: of its `stream`, a bead, what is drawn, a trial.
enum class Draw : std::uint32_t { place, bend, torsion, choice };
MM_HD std::uint32_t draw_number(std::uint32_t stream, int bead, Draw what, int trial) {
  return stream << 30 | static_cast<std::uint32_t>(bead) << 27 |
         static_cast<std::uint32_t>(what) << 25 | static_cast<std::uint32_t>(trial);
}

// Cosine and sine of an angle with the density of a table; number: without the tries, which are
// bits 12 to 24.
MM_HD void draw_angle(const AngleTable& t, double beta, PhiloxKey key, std::uint64_t step,
                      std::uint32_t system, std::uint32_t number, double& c, double& s) {
  MM_NO_UNROLL
  for (std::uint32_t k = 0; k < kMostTries; ++k) {
    std::uint32_t word[4];
    random_words(word, key, step, system, number | k << 12, Purpose::chain);
    std::uint32_t cell = word[0] >> 22;
    // The alias method: one random word chooses a cell and, by its lower bits, between the cell and
    // its alias.
    if (word[0] << 10 >= t.cell[cell].below) cell = t.cell[cell].alias;
    const std::uint32_t phase = t.torsion ? cell << 22 | word[1] >> 10 : cell << 21 | word[1] >> 11;
    const double p = angle_density(t, beta, phase, c, s);
    // Rejection: accepted with the probability density / bound.
    if (uniform(word[2]) * t.cell[cell].bound < p) return;
  }
}

// Where bead j may grow from its present neighbors j - side, j - 2 side and j - 3 side: the vectors
// of its frame. The axis points along the last bond, `up` to the side of the third neighbor.
struct BeadFrame {
  Vector from, axis, up, across;
  double bond;
  int bend, torsion;  // tables, or -1
};
MM_CALL BeadFrame frame_of(const ChainBody& body, const auto& shape, int j, int side, int present) {
  BeadFrame f{};
  const int a = j - side, b = j - 2 * side, c = j - 3 * side;
  f.from = bead_of(shape, a);
  f.bond = body.bond[side > 0 ? a : j];
  f.bend = present >= 2 ? body.bend[(side > 0 ? b : j)] : -1;
  f.torsion = present >= 3 ? body.torsion[(side > 0 ? c : j)] : -1;
  // Of the last bond, along which the bend is measured; any direction without a second bead.
  f.axis = present >= 2 ? unit(between_beads(shape, b, a)) : Vector{0, 0, 1};
  // Any other direction where there is no third neighbor.
  Vector other = abs_of(f.axis.x) < 0.6 ? Vector{1, 0, 0} : Vector{0, 1, 0};
  if (present >= 3) other = between_beads(shape, b, c);
  f.up = unit(along(other, -dot(other, f.axis), f.axis));
  f.across = cross(f.axis, f.up);
  return f;
}
// From the cosines and sines of the bend and of the torsion.
MM_HD Vector bead_at(const BeadFrame& f, double ct, double st, double cp, double sp) {
  // cos phi up + sin phi across: the azimuth of the new bond around the axis.
  const Vector radial = along(scaled(f.up, cp), sp, f.across);
  const Vector direction = along(scaled(radial, st), -ct, f.axis);
  return along(f.from, f.bond, direction);
}
// A trial: uniform on a sphere without a second neighbor; otherwise by the bend, and by the torsion
// or uniform around the axis.
MM_CALL Vector draw_bead(const ChainModel& m, const BeadFrame& f, PhiloxKey key, std::uint64_t step,
                         std::uint32_t system, std::uint32_t stream, int bead, int trial) {
  double ct, st, cp, sp;
  const std::uint32_t bend = draw_number(stream, bead, Draw::bend, trial),
                      torsion = draw_number(stream, bead, Draw::torsion, trial);
  std::uint32_t word[4];
  if (f.bend >= 0) {
    draw_angle(m.table[f.bend], m.beta, key, step, system, bend, ct, st);
  } else {
    random_words(word, key, step, system, bend, Purpose::chain);
    // A direction that is uniform on a sphere has a cosine that is uniform in [-1, 1].
    ct = fused(2.0, uniform(word[0]), -1.0);
    st = square_root(fused(-ct, ct, 1.0));
  }
  if (f.torsion >= 0) {
    draw_angle(m.table[f.torsion], m.beta, key, step, system, torsion, cp, sp);
  } else {
    random_words(word, key, step, system, torsion, Purpose::chain);
    unit_circle(word[0], cp, sp);
  }
  return bead_at(f, ct, st, cp, sp);
}

}  // namespace manymove::adsorption
