// SPDX-License-Identifier: BSD-3-Clause
// Scalars that particles carry and exchange in pairs: temperatures (energy-conserving DPD) and
// concentrations of species (transport DPD). What differs from the papers: docs/theory/dpd.md.
// Z. Li, Y.-H. Tang, H. Lei, B. Caswell, G. E. Karniadakis, J. Comput. Phys. 265, 113 (2014);
// Z. Li, A. Yazdani, A. Tartakovsky, G. E. Karniadakis, J. Chem. Phys. 143, 014101 (2015).
#pragma once

#include "fixed_point.h"
#include "model.h"
#include "pair_forces.h"

namespace manymove::dpd {

// Coefficients c_k of 1 + c_1 x + c_2 x^2 + c_3 x^3 + c_4 x^4, which a GPU loads together.
template <class F>
struct alignas(4 * sizeof(F)) Series {
  F c[4];
};
template <class F>
MM_HD F series_at(Series<F> series, F x) {
  const F* const c = series.c;
  return fused(x, fused(x, fused(x, fused(x, c[3], c[2]), c[1]), c[0]), F(1));
}

template <class F>
struct ScalarLaw {                       // ScalarCoefficients
  F inverse_cutoff, inverse_mass, unit;  // the unit of the forces of pairs
  int species;                           // behind these all coefficients are 0
  F weight_exponent[kScalars], conductance[kScalars], noise[kScalars];
  Series<F> of_exponent, of_conductance;
};
template <class F>
ScalarLaw<F> scalar_law_of(const ScalarCoefficients& c, double unit = 1) {
  ScalarLaw<F> law;
  const auto set = [](auto& to, const auto& from) {
    for (int k = 0; k < static_cast<int>(sizeof to / sizeof to[0]); ++k)
      to[k] = static_cast<F>(from[k]);
  };
  law.inverse_cutoff = static_cast<F>(c.inverse_cutoff);
  set(law.weight_exponent, c.weight_exponent);
  set(law.conductance, c.conductance);
  set(law.noise, c.noise);
  set(law.of_exponent.c, c.series_of_exponent);
  set(law.of_conductance.c, c.series_of_conductance);
  law.inverse_mass = static_cast<F>(c.inverse_mass);
  law.unit = static_cast<F>(unit);
  law.species = kScalars;
  while (law.species > 0 && c.conductance[law.species - 1] == 0 && c.noise[law.species - 1] == 0)
    --law.species;
  return law;
}

// What two particles are to each other: scalars of i and j, |r_ij|^2, r_ij . v_ij, xi_ij of the
// force, and a normal variable for each scalar, antisymmetric in i and j.
template <class F>
struct ScalarPair {
  Vector<F> mine, other;
  F squared_distance, approach, noise;
  Vector<F> exchanged;
};

// Eqs. 4 to 12 of Li et al. (2014), with k_B = 1 and the coefficients of LAMMPS' pair style edpd.
// Adds the heat that i receives per unit of time. x of the scalars is the temperature T, y the heat
// capacity C. Forces and friction are in the unit of forces.
template <PairMath Math = ExactMath, class F>
MM_HD PairForce<F> thermal_pair(const PairLaw<F>& law, const ScalarLaw<F>& heat,
                                const ScalarPair<F>& pair, Vector<double>& flux) {
  F r, inverse;
  Math::root(pair.squared_distance, r, inverse);
  const F t_i = pair.mine.x, t_j = pair.other.x, mean = F(0.5) * (t_i + t_j), above = mean - F(1);
  // w_R = w_C^s with an exponent s that depends on the temperature, but not below 0.005.
  const F s = law.weight_exponent * series_at(heat.of_exponent, above);
  const F w = linear_weight(r, law.inverse_cutoff),
          w_random = Math::raise(w, s > F(0.005) ? s : F(0.005));
  // sigma^2 = 4 gamma T_i T_j / (T_i + T_j)
  const F variance = F(4) * law.gamma * Math::ratio(t_i * t_j, t_i + t_j);
  const F approach = pair.approach * inverse,
          push = Math::square_root(variance) * (law.sigma * pair.noise);
  const F strength = law.a * mean;
  const F force = fused(strength, w, w_random * fused(-(law.gamma * w_random), approach, push));
  const F w_heat = linear_weight(r, heat.inverse_cutoff);
  if (inverse > F(0) && w_heat > F(0)) {
    // Friction heats both particles, and noise cools them: w_R^2 (gamma (e.v)^2 - sigma^2 / m) -
    // sigma w_R (e.v) xi, over C_i + C_j.
    const F lost = fused(law.gamma * approach, approach, -(variance * heat.inverse_mass));
    const F viscous = Math::ratio(w_random * fused(w_random, lost, -(push * approach)),
                                  pair.mine.y + pair.other.y);
    // kappa = C_i C_j kappa_0(T) T^2: kappa w^2 (1 / T_i - 1 / T_j) + sqrt(2 kappa) w zeta
    const F w_exchange = Math::raise(w_heat, heat.weight_exponent[0]);
    const F kappa = pair.mine.y * pair.other.y *
                    (heat.conductance[0] * series_at(heat.of_conductance, above)) * (mean * mean);
    const F conducted = kappa * w_exchange * Math::ratio(t_j - t_i, t_i * t_j);
    const F random = Math::square_root(F(2) * kappa) * (heat.noise[0] * pair.exchanged.x);
    const F exchanged = w_exchange * (conducted + random);
    // The former term is the same for i and j, the latter has the reverse sign for j.
    flux.x += static_cast<double>(heat.unit * viscous) + static_cast<double>(exchanged);
  }
  return {force * inverse, F(0.5) * (strength / law.inverse_cutoff) * (w * w)};
}

// Eqs. 5 and 6 of Li et al. (2015), with the coefficients of LAMMPS' pair style tdpd: adds what i
// receives of each species, w^2 kappa (c_j - c_i) + w epsilon (c_i + c_j) zeta. The force is that
// of pair_force().
template <PairMath Math = ExactMath, class F>
MM_HD void add_exchange(const ScalarLaw<F>& law, const ScalarPair<F>& pair, Vector<double>& flux) {
  F r, inverse;
  Math::root(pair.squared_distance, r, inverse);
  const F w = linear_weight(r, law.inverse_cutoff);
  if (!(inverse > F(0)) || !(w > F(0))) return;
  const auto add = [&](int k, F c_i, F c_j, F zeta, double& sum) {
    if (k >= law.species) return;
    const F weight = Math::raise(w, law.weight_exponent[k]);
    // A product of its own: sums of the pairs have the same bits in kernels that add it later.
    const F received =
        weight * fused(weight * law.conductance[k], c_j - c_i, law.noise[k] * (c_i + c_j) * zeta);
    sum += static_cast<double>(received);
  };
  add(0, pair.mine.x, pair.other.x, pair.exchanged.x, flux.x);
  add(1, pair.mine.y, pair.other.y, pair.exchanged.y, flux.y);
  add(2, pair.mine.z, pair.other.z, pair.exchanged.z, flux.z);
}

// Force and flux of a pair of particles that carry scalars.
template <PairMath Math = ExactMath, class F>
MM_HD PairForce<F> scalar_pair(ScalarKind kind, const PairLaw<F>& law, const ScalarLaw<F>& scalars,
                               const ScalarPair<F>& pair, Vector<double>& flux) {
  if (kind == kTemperature) return thermal_pair<Math>(law, scalars, pair, flux);
  add_exchange<Math>(scalars, pair, flux);
  return pair_force<true, Math>(law, pair.squared_distance, pair.approach, pair.noise);
}

}  // namespace manymove::dpd
