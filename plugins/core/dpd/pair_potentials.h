// SPDX-License-Identifier: BSD-3-Clause
// Potentials of pairs in addition to the forces of DPD, evaluated in the same loop over pairs:
// those of LAMMPS' pair styles lj/cut, morse, soft and table.
#pragma once

#include <limits>

#include "model.h"
#include "pair_forces.h"

namespace manymove::dpd {

// PairPotential in the numbers of a step. first, second: see potential_of().
template <class F>
struct PotentialLaw {
  int form;
  F cutoff_squared;
  F first, second;
  // Of kMorse: alpha and r_0; of kSoft, the former: 1 / r_c; of kTabulated: the nodes per squared
  // length, and the squared distance of the first one.
  double steepness, length;
  F shift;
  int first_node = 0, last_node = 0;  // of kTabulated, in an array with the nodes of all tables
};

// In units of force (and of energy over length).
template <class F>
PotentialLaw<F> potential_of(const PairPotential& p, double unit) {
  const auto real = [unit](double a) { return static_cast<F>(a / unit); };
  PotentialLaw<F> law{
      p.form, static_cast<F>(p.cutoff * p.cutoff), real(p.strength), F(0), 0, 0, real(p.shift)};
  if (p.form == kLennardJones) {
    // 4 epsilon sigma^6 and 4 epsilon sigma^12.
    const double cube = p.length * p.length * p.length, sixth = cube * cube;
    law.first = real(4 * p.strength * sixth);
    law.second = real(4 * p.strength * sixth * sixth);
  } else if (p.form == kMorse) {
    law.steepness = p.steepness;
    law.length = p.length;
  } else if (p.form == kSoft) {
    law.steepness = 1 / p.cutoff;
  } else if (p.form == kTabulated) {
    law.first = real(1);
    law.steepness = 1 / p.table->spacing;
    law.length = p.table->low;
    law.last_node = static_cast<int>(p.table->node.size()) - 1;
  }
  return law;
}

// sin(pi u) for u from -1/2 to 1/2, by the series of the sine; absolute error below 3e-16.
MM_HD double sine_of_half_turns(double u) {
  const double x = 3.14159265358979323846 * u;
  return x * polynomial(x * x, 1.0, -1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880, -1.0 / 39916800,
                        1.0 / 6227020800.0, -1.0 / 1307674368000.0, 1.0 / 355687428096000.0,
                        -1.0 / 121645100408832000.0);
}
// cos(pi u) for the same u.
MM_HD double cosine_of_half_turns(double u) {
  const double x = 3.14159265358979323846 * u;
  return polynomial(x * x, 1.0, -1.0 / 2, 1.0 / 24, -1.0 / 720, 1.0 / 40320, -1.0 / 3628800,
                    1.0 / 479001600.0, -1.0 / 87178291200.0, 1.0 / 20922789888000.0,
                    -1.0 / 6402373705728000.0, 1.0 / 2432902008176640000.0);
}

// e^x by 2^(x log2 e), whose factor has two parts so that its rounding does not count.
MM_HD double exponential_function(double x) {
  const double y = x * 1.4426950408889634074;
  const double bounded = y > 1000.0 ? 1000.0 : y;
  const double rounded = bounded + 6755399441055744.0, n = rounded - 6755399441055744.0;
  const double f = fused(x, 2.0355273740931033e-17, fused(x, 1.4426950408889634074, -n));
  return y > -1000.0 ? binary_power(rounded, f) : 0.0;
}

// E = 4 epsilon [(sigma / r)^12 - (sigma / r)^6] and -dE/dr / r.
template <class F>
MM_HD PairForce<F> lennard_jones(F first, F second, F shift, F squared) {
  const F inverse = F(1) / squared, sixth = inverse * inverse * inverse;
  const F repulsion = second * sixth;
  return {F(6) * sixth * inverse * fused(F(2), repulsion, -first),
          fused(sixth, repulsion - first, -shift)};
}

// The force of particles that are closer than the first distance of their table, or behind a
// surface: not a number. No other force, limit or fix can undo it, so that drift() finds the
// particle lost.
constexpr double kForbidden = std::numeric_limits<double>::quiet_NaN();

// The force over distance and the energy of a table.
template <class F>
MM_HD PairForce<F> tabulated_pair(const PotentialLaw<F>& law, const TableNode* nodes,
                                  double squared) {
  const double at = (squared - law.length) * law.steepness;
  if (!(at >= 0)) return {static_cast<F>(kForbidden), static_cast<F>(kForbidden)};
  const Tabulated found = tabulated(nodes + law.first_node, law.last_node - law.first_node, at);
  const auto scale = static_cast<double>(law.first);
  return {static_cast<F>(scale * found.force), static_cast<F>(scale * found.energy)};
}

// Adds those of particles of one type, whose potential is of this form, as add_potential() does.
template <class F>
MM_HD void add_lennard_jones(const PotentialLaw<F>& law, F squared, PairForce<F>& pair) {
  if (!(squared < law.cutoff_squared) || !(squared > F(0))) return;
  const PairForce<F> added = lennard_jones(law.first, law.second, law.shift, squared);
  pair.over_distance += added.over_distance;
  pair.energy += added.energy;
}

// Adds the force and the energy of a pair within the cutoff of its law, which is 0 without a
// potential. nodes: of all tables. factor: that of a special neighbor, otherwise 1. Two particles
// in one place have no direction, and feel nothing.
template <class F>
MM_HD void add_potential(const PotentialLaw<F>& law, const TableNode* nodes, F squared, F factor,
                         PairForce<F>& pair) {
  if (!(squared < law.cutoff_squared) || !(squared > F(0))) return;
  F over_distance, energy;
  if (law.form == kLennardJones) {
    const PairForce<F> added = lennard_jones(law.first, law.second, law.shift, squared);
    over_distance = added.over_distance;
    energy = added.energy;
  } else if (law.form == kTabulated) {
    const PairForce<F> added = tabulated_pair(law, nodes, static_cast<double>(squared));
    over_distance = added.over_distance;
    energy = added.energy;
  } else if (law.form == kMorse) {
    // E = D [e^(-2 alpha (r - r_0)) - 2 e^(-alpha (r - r_0))].
    const double r = square_root(static_cast<double>(squared));
    const double decay = exponential_function(-law.steepness * (r - law.length));
    over_distance = static_cast<F>(2 * static_cast<double>(law.first) * law.steepness * decay *
                                   (decay - 1) / r);
    energy = fused(law.first, static_cast<F>(decay * (decay - 2)), -law.shift);
  } else {
    // E = A [1 + cos(pi r / r_c)], by angles from that of half the cutoff.
    const double r = square_root(static_cast<double>(squared));
    const double u = fused(r, law.steepness, -0.5), strength = static_cast<double>(law.first);
    over_distance = static_cast<F>(strength * (3.14159265358979323846 * law.steepness) *
                                   cosine_of_half_turns(u) / r);
    energy = static_cast<F>(strength * (1 - sine_of_half_turns(u)));
  }
  pair.over_distance = fused(factor, over_distance, pair.over_distance);
  pair.energy = fused(factor, energy, pair.energy);
}

}  // namespace manymove::dpd
