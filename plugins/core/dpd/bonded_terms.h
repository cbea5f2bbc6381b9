// SPDX-License-Identifier: BSD-3-Clause
// Forces of bonds, angles, dihedrals and impropers on one particle, for input scripts that have
// more than harmonic bonds: the sum over its terms, the same for every backend. All of it is in
// double precision, also where pairs are in float32, because an angle near 180 degrees loses half
// of its digits otherwise.
#pragma once

#include "link_rows.h"
#include "step.h"

namespace manymove::dpd {

// Coefficients of one type of bonds, angles or impropers; which members a form uses is said at
// BondForm and AngleForm.
struct BondedLaw {
  int form;
  double stiffness, rest;  // rest: a length squared for FENE, an angle in radians
  union {
    double epsilon, cosine;  // of FENE; of the angle `rest`
    struct {
      int first, last;  // nodes of kTabulatedBond; the first one is at the length `rest`
    } node;
  };
  union {
    double sigma_squared, sine, nodes_per_length;
  };
};

// E = sum of amplitude[m] cos(m phi), from m = 0 on.
struct DihedralLaw {
  double amplitude[kMostMultiplicity + 1];
};

// The matrix from units of positions to lengths, and the laws by type.
struct BondedTerms {
  Matrix<double> edges;
  bool tilted;
  const BondedLaw *bonds, *angles, *impropers;
  const DihedralLaw* dihedrals;
  const TableNode* nodes;  // of all tables
};

// States of FENE bonds by their length. A bond outside of its table is kBroken, too.
enum Stretch : std::uint32_t { kHolds, kStretched, kBroken };

// Each bond is counted at both of its ends, each angle twice at its center, and each dihedral and
// improper twice at its first particle, so that half of an energy or virial is a particle's share.
struct BondedSum {
  Vector<double> force = {0, 0, 0};
  Sum<double> bonds, angles, dihedrals, impropers;  // without forces
  std::uint32_t stretch = kHolds;
};

// ---- functions ----

// asin(z) / z - 1 over z^2 for z^2 up to 1/4, absolute error of asin below 1e-17.
MM_HD double arcsine_series(double squared) {
  return polynomial(squared, 0.16666666666666669, 0.07499999999998433, 0.04464285714635543,
                    0.030381944138531247, 0.02237217294214989, 0.017352392720869973,
                    0.013971212973552933, 0.011479177415184906, 0.01032281435018578,
                    0.005457506718640358, 0.01740087944269402, -0.014851887071247204,
                    0.028757851367421566);
}

// The angle with this cosine, between -1 and 1, in radians.
MM_HD double angle_of(double cosine) {
  constexpr double pi = 3.14159265358979323846;
  const double size = abs_of(cosine);
  if (size <= 0.5) {
    const double squared = cosine * cosine;
    return 0.5 * pi - fused(cosine * squared, arcsine_series(squared), cosine);
  }
  const double squared = 0.5 * (1 - size), root = square_root(squared);
  const double twice = 2 * fused(root * squared, arcsine_series(squared), root);
  return cosine > 0 ? twice : pi - twice;
}

// ---- terms ----

template <Precision P>
MM_HD Vector<double> separation(const BondedTerms& t, const typename P::Position& i,
                                const typename P::Position& j) {
  return separation_in<P>(t.edges, t.tilted, i, j);
}

MM_HD Vector<double> combined(double a, const Vector<double>& r1, double b,
                              const Vector<double>& r2) {
  return {fused(a, r1.x, b * r2.x), fused(a, r1.y, b * r2.y), fused(a, r1.z, b * r2.z)};
}

// Finitely extensible nonlinear elastic: E = -K/2 R0^2 ln(1 - (r / R0)^2) + 4 epsilon [(sigma /
// r)^12 - (sigma / r)^6 + 1/4], the latter up to 2^(1/6) sigma. As in LAMMPS, the argument of the
// logarithm is at least 0.1, and a bond of twice R0 is broken. Returns force over distance.
MM_HD double fene(const BondedLaw& law, double squared, bool with_energy, double& energy,
                  std::uint32_t& stretch) {
  double argument = fused(-squared, 1 / law.rest, 1.0);
  if (argument < 0.1) {
    const std::uint32_t how_far = argument <= -3.0 ? kBroken : kStretched;
    stretch = stretch > how_far ? stretch : how_far;
    argument = 0.1;
  }
  // -dE/dr / r = -K / (1 - (r / R0)^2), and 48 epsilon [(sigma / r)^12 - (sigma / r)^6 / 2] / r^2
  // of the repulsion.
  double over_distance = -law.stiffness / argument;
  constexpr double cube_root_of_two = 1.25992104989487316476;
  const bool repels = squared < cube_root_of_two * law.sigma_squared;
  double sixth = 0;  // (sigma / r)^6
  if (repels) {
    const double second = law.sigma_squared / squared, fourth = second * second;
    sixth = fourth * second;
    over_distance =
        fused(48 * law.epsilon * sixth, fused(fourth, second, -0.5) / squared, over_distance);
  }
  if (with_energy) {
    energy = -0.5 * law.stiffness * law.rest * natural_logarithm(argument);
    if (repels) energy = fused(4 * law.epsilon * sixth, sixth - 1, energy + law.epsilon);
  }
  return over_distance;
}

// Returns force over distance.
MM_HD double tabulated_bond(const BondedLaw& law, const TableNode* nodes, double distance,
                            double& energy, std::uint32_t& stretch) {
  const double at = (distance - law.rest) * law.nodes_per_length;
  const int intervals = law.node.last - law.node.first;
  if (!(at >= 0 && at < intervals)) {
    stretch = kBroken;
    return 0;
  }
  const Tabulated found = tabulated(nodes + law.node.first, intervals, at);
  energy = found.energy;
  return distance > 0 ? found.force / distance : 0;
}

template <Precision P>
MM_HD void add_bond_term(BondedSum& sum, const BondedTerms& terms, const BondedLaw& law,
                         const typename P::Position& i, const typename P::Position& j,
                         bool with_energy) {
  const Vector<double> r = separation<P>(terms, i, j);
  const double squared = dot(r, r);
  double over_distance, energy = 0;
  if (law.form == kFene) {
    over_distance = fene(law, squared, with_energy, energy, sum.stretch);
  } else if (law.form == kTabulatedBond) {
    over_distance = tabulated_bond(law, terms.nodes, square_root(squared), energy, sum.stretch);
  } else {
    // E = K (r - r0)^2 and -dE/dr / r = -2 K (r - r0) / r.
    const double distance = square_root(squared), stretch = distance - law.rest;
    over_distance = distance > 0 ? -2 * law.stiffness * stretch / distance : 0;
    energy = law.stiffness * stretch * stretch;
  }
  add_scaled(sum.force, r, over_distance);
  if (with_energy) add_energy(sum.bonds, r, over_distance, energy);
}

// The forces on both ends of an angle, and its energy. r1, r2: from its center to the ends.
struct AngleForces {
  Vector<double> on_first, on_second;
  double energy;
};
// With c = cos theta = r1 . r2 / (|r1| |r2|), the force on the first end is -dE/dc (r2 / (|r1|
// |r2|) - c r1 / |r1|^2), and the same with both ends exchanged.
MM_HD AngleForces angle_forces(const BondedLaw& law, const Vector<double>& r1,
                               const Vector<double>& r2) {
  const double squared1 = dot(r1, r1), squared2 = dot(r2, r2);
  const double inverse = 1 / square_root(squared1 * squared2);
  double cosine = dot(r1, r2) * inverse;
  cosine = cosine > 1 ? 1 : cosine < -1 ? -1 : cosine;
  double slope, energy;  // slope: of the energy by the cosine
  if (law.form == kAngleCosine) {
    slope = law.stiffness;
    energy = law.stiffness * (1 + cosine);
  } else if (law.form == kAngleCosineSquared) {
    const double deviation = cosine - law.cosine;
    slope = 2 * law.stiffness * deviation;
    energy = law.stiffness * deviation * deviation;
  } else {
    const double root = square_root(fused(-cosine, cosine, 1.0));
    const double sine = root > 0.001 ? root : 0.001;  // as in LAMMPS
    if (law.form == kAngleCosineDelta) {
      // cos(theta - theta0) = c cos theta0 + s sin theta0, whose derivative by c is cos theta0 -
      // (c / s) sin theta0.
      slope = -law.stiffness * fused(-(cosine / sine), law.sine, law.cosine);
      energy = law.stiffness * (1 - fused(cosine, law.cosine, root * law.sine));
    } else {
      // dE/dc = -2 K (theta - theta0) / sin theta.
      const double deviation = angle_of(cosine) - law.rest;
      slope = -2 * law.stiffness * deviation / sine;
      energy = law.stiffness * deviation * deviation;
    }
  }
  const double shared = -slope * inverse, along = -(cosine * shared) * inverse;
  return {combined(along * squared2, r1, shared, r2), combined(along * squared1, r2, shared, r1),
          energy};
}

// The particle is an end of an angle, whose center and other end follow, or the center, whose ends
// follow. The force on the center is opposite to the sum of those on the ends, whatever their
// order. Threads of a GPU whose particles have different roles execute the same instructions.
template <Precision P>
MM_HD void add_angle(BondedSum& sum, const BondedTerms& terms, int kind,
                     const typename P::Position& own, const typename P::Position& second,
                     const typename P::Position& third, bool with_energy) {
  const bool is_center = kind >= kAngleCenter;
  typename P::Position center = second;
  if (is_center) center = own;
  const Vector<double> toward = separation<P>(terms, second, own),
                       r1 = is_center ? toward : Vector<double>{0, 0, 0} - toward,
                       r2 = separation<P>(terms, third, center);
  const BondedLaw& law = terms.angles[kind & kBondedType];
  const auto [f1, f2, energy] = angle_forces(law, r1, r2);
  sum.force = sum.force + (is_center ? Vector<double>{0, 0, 0} - (f1 + f2) : f1);
  if (!with_energy || !is_center) return;
  // Twice, since sums over particles are halved: a bond is counted at both ends, an angle at its
  // center only. W = sum r (x) f in the order xx, yy, zz, xy, xz, yz.
  sum.angles.energy += 2 * energy;
  const double virial[6] = {fused(r1.x, f1.x, r2.x * f2.x), fused(r1.y, f1.y, r2.y * f2.y),
                            fused(r1.z, f1.z, r2.z * f2.z), fused(r1.x, f1.y, r2.x * f2.y),
                            fused(r1.x, f1.z, r2.x * f2.z), fused(r1.y, f1.z, r2.y * f2.z)};
  for (int a = 0; a < 6; ++a) sum.angles.virial[a] = fused(2.0, virial[a], sum.angles.virial[a]);
}

// ---- four particles ----

// The place of a term's four particles: r1 from the second to the first, r2 from the second to the
// third, r3 from the third to the fourth, and the cosine between the planes of the first three and
// the last three. It is 1 if the first and the fourth are on the same side (cis).
struct TwoPlanes {
  Vector<double> r1, r2, r3;
  double inverse1, inverse2, inverse3;  // of lengths
  double across, cosine1, cosine2;      // cosines between r1 and r3, r1 and r2, -r3 and r2
  double sine1, sine2, sines;           // 1 / sin^2 of the latter two, and the root of the product
  double cosine;
};
// Both sin^2 count as at least `least`, as in LAMMPS.
MM_HD TwoPlanes two_planes(const Vector<double>& r1, const Vector<double>& r2,
                           const Vector<double>& r3, double least) {
  TwoPlanes p{};
  p.r1 = r1;
  p.r2 = r2;
  p.r3 = r3;
  p.inverse1 = 1 / square_root(dot(r1, r1));
  p.inverse2 = 1 / square_root(dot(r2, r2));
  p.inverse3 = 1 / square_root(dot(r3, r3));
  p.across = dot(r1, r3) * p.inverse1 * p.inverse3;
  p.cosine1 = dot(r1, r2) * p.inverse1 * p.inverse2;
  p.cosine2 = -dot(r3, r2) * p.inverse3 * p.inverse2;
  const auto inverse_of = [least](double cosine) {
    const double squared = fused(-cosine, cosine, 1.0);
    return 1 / (squared > least ? squared : least);
  };
  p.sine1 = inverse_of(p.cosine1);
  p.sine2 = inverse_of(p.cosine2);
  p.sines = square_root(p.sine1 * p.sine2);
  const double cosine = fused(p.cosine1, p.cosine2, p.across) * p.sines;
  p.cosine = cosine > 1 ? 1 : cosine < -1 ? -1 : cosine;
  return p;
}

// Forces on the four particles of a term; slope: the derivative of its energy by the cosine.
struct FourForces {
  Vector<double> on[4];
};
MM_HD FourForces forces_of(const TwoPlanes& p, double slope) {
  const auto combination = [&p](double a, double b, double c) {
    return combined(1.0, combined(a, p.r1, b, p.r2), c, p.r3);
  };
  // The negative gradient of the cosine is (a11 r1 + a12 r2 + a13 r3) by r1, and so on, with a
  // symmetric matrix, because the cosine is a function of the products of r1, r2 and r3.
  const double along = p.cosine * slope, twist = p.sines * slope;
  const double a11 = along * p.inverse1 * p.inverse1 * p.sine1,
               a33 = along * p.inverse3 * p.inverse3 * p.sine2,
               a22 = -(p.inverse2 * p.inverse2) *
                     fused(2 * p.across, twist, -along * (p.sine1 + p.sine2)),
               a12 = -(p.inverse1 * p.inverse2) *
                     fused(p.cosine1 * along, p.sine1, p.cosine2 * twist),
               a13 = -(p.inverse1 * p.inverse3) * twist,
               a23 = p.inverse2 * p.inverse3 * fused(p.cosine2 * along, p.sine2, p.cosine1 * twist);
  const Vector<double> first = combination(a11, a12, a13), middle = combination(a12, a22, a23),
                       fourth = combination(a13, a23, a33);
  return {{first, Vector<double>{0, 0, 0} - (middle + first), middle - fourth, fourth}};
}

// E = sum of A_m cos(m phi) and dE/dc by the recursions of the Chebyshev polynomials cos(m phi) =
// T_m(c) and dT_m/dc = m U_(m-1)(c).
MM_HD double cosine_series(const DihedralLaw& law, double cosine, double& slope) {
  double before = 1, now = cosine, slope_before = 0, slope_now = 1;  // T_0, T_1, U_-1, U_0
  double energy = law.amplitude[0];
  slope = 0;
  for (int m = 1; m <= kMostMultiplicity; ++m) {
    energy = fused(law.amplitude[m], now, energy);
    slope = fused(m * law.amplitude[m], slope_now, slope);
    const double next = fused(2 * cosine, now, -before),
                 slope_next = fused(2 * cosine, slope_now, -slope_before);
    before = now;
    now = next;
    slope_before = slope_now;
    slope_now = slope_next;
  }
  return energy;
}

// E = K (chi - chi0)^2 with dE/dc = -2 K (chi - chi0) / sin chi.
MM_HD double improper_energy(const BondedLaw& law, double cosine, double& slope) {
  const double root = square_root(fused(-cosine, cosine, 1.0));
  const double deviation = angle_of(cosine) - law.rest;
  slope = -2 * law.stiffness * deviation / (root > 0.001 ? root : 0.001);
  return law.stiffness * deviation * deviation;
}

// The place of a particle with this kind of Topology::bond_type, 0 to 3.
MM_HD int place_of(int kind) { return kind / kNextPlace % 4; }
static_assert(kDihedral / kNextPlace % 4 == 0 && kImproper / kNextPlace % 4 == 0);

// kind: with the role of particle i; partner: the other three in their order in the term.
template <Precision P>
MM_HD void add_four_body_term(BondedSum& sum, const BondedTerms& terms, int kind,
                              const typename P::Position* position, std::uint32_t i,
                              const std::uint32_t (&partner)[3], bool with_energy) {
  const bool improper = kind >= kImproper;
  const int type = kind & kBondedType, place = place_of(kind);
  const auto [a, b, c] = partner;
  const std::uint32_t at_second = place == 0   ? a
                                  : place == 1 ? i
                                               : b,
                      at_third = place < 2    ? b
                                 : place == 2 ? i
                                              : c;
  const typename P::Position second = position[at_second], third = position[at_third];
  // The limits of LAMMPS' styles.
  const TwoPlanes planes =
      two_planes(separation<P>(terms, position[place == 0 ? i : a], second),
                 separation<P>(terms, third, second),
                 separation<P>(terms, position[place == 3 ? i : c], third), improper ? 1e-3 : 1e-6);
  double slope;
  const double energy = improper ? improper_energy(terms.impropers[type], planes.cosine, slope)
                                 : cosine_series(terms.dihedrals[type], planes.cosine, slope);
  const FourForces f = forces_of(planes, slope);
  // Values are chosen, because a GPU would keep an array with an index in its memory.
  const auto chosen = [place](double a, double b, double c, double d) {
    return place < 2 ? place == 0 ? a : b : place == 2 ? c : d;
  };
  sum.force = sum.force + Vector<double>{chosen(f.on[0].x, f.on[1].x, f.on[2].x, f.on[3].x),
                                         chosen(f.on[0].y, f.on[1].y, f.on[2].y, f.on[3].y),
                                         chosen(f.on[0].z, f.on[1].z, f.on[2].z, f.on[3].z)};
  if (!with_energy || place != 0) return;
  // W = r1 (x) f1 + r2 (x) f3 + (r2 + r3) (x) f4, with places from the second particle.
  Sum<double>& all = improper ? sum.impropers : sum.dihedrals;
  add_energy(all, planes.r1, Vector<double>{2 * f.on[0].x, 2 * f.on[0].y, 2 * f.on[0].z},
             2 * energy);
  for (int k = 2; k < 4; ++k) {
    const Vector<double> from_second = k == 2 ? planes.r2 : planes.r2 + planes.r3;
    add_energy(all, from_second, Vector<double>{2 * f.on[k].x, 2 * f.on[k].y, 2 * f.on[k].z}, 0.0);
  }
}

// ---- all terms ----

// The partners of a particle, one after the other. Their entries are read ahead and, if `ahead`,
// the places of two of them, so that these arrive while a thread of a GPU computes a term.
template <Precision P, bool ahead = false>
class PartnersInOrder {
  using Position = typename P::Position;

 public:
  // Reads entries alone.
  MM_HD PartnersInOrder(const Partners& bonds, int i) : bonds_(bonds), i_(i) {
    for (Partner& next : next_) next = bonds_.of(i_, k_++);
  }
  // Before the first partner is taken.
  MM_HD void begin(const Position* position) {
    position_ = position;
    if (ahead) own_ = position[i_];
    for (int k = 0; ahead && k < 2; ++k) take();
  }

  MM_HD Position own() const { return ahead ? own_ : position_[i_]; }
  // The kind of the next partner, 0 behind the last one.
  MM_HD int kind() const { return ahead ? kind_[0] : next_[0].kind; }
  MM_HD Position take() {
    if constexpr (!ahead) return position_[take_index()];
    const Position taken = place_[0];
    place_[0] = place_[1];
    kind_[0] = kind_[1];
    kind_[1] = next_[0].kind;
    const std::uint32_t index = take_index();
    if (kind_[1]) place_[1] = position_[index];
    return taken;
  }
  // The index of the next partner. If `ahead`, only take() calls it.
  MM_HD std::uint32_t take_index() {
    const std::uint32_t index = next_[0].index;
    if (ahead) next_[0] = next_[1];
    next_[ahead] = bonds_.of(i_, k_++);
    return index;
  }

 private:
  const Partners bonds_;
  const Position* position_ = nullptr;
  const int i_;
  int k_ = 0;  // of the entry that is read next
  Partner next_[1 + ahead];
  int kind_[2] = {};
  Position own_ = {}, place_[2] = {};
};

// All terms of particle i. Terms of one kind follow each other, in a loop of their own, in which
// the threads of a GPU stay together. partners: have begun; four: there may be dihedrals and
// impropers.
template <bool four = true, Precision P, bool ahead>
MM_HD BondedSum bonded_sum(const BondedTerms& terms, const typename P::Position* position,
                           PartnersInOrder<P, ahead> partners, int i, bool with_energy) {
  BondedSum sum;
  while (partners.kind()) {
    for (int kind; (kind = partners.kind()) && kind <= kBondedType;)
      add_bond_term<P>(sum, terms, terms.bonds[kind], partners.own(), partners.take(), with_energy);
    for (int kind; (kind = partners.kind()) > kBondedType && (!four || kind < kDihedral);) {
      const typename P::Position second = partners.take(), third = partners.take();
      add_angle<P>(sum, terms, kind, partners.own(), second, third, with_energy);
    }
    if constexpr (four)
      for (int kind; (kind = partners.kind()) >= kDihedral;) {
        std::uint32_t three[3];
        for (std::uint32_t& partner : three) partner = partners.take_index();
        add_four_body_term<P>(sum, terms, kind, position, static_cast<std::uint32_t>(i), three,
                              with_energy);
      }
  }
  return sum;
}

}  // namespace manymove::dpd
