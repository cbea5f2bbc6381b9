// SPDX-License-Identifier: BSD-3-Clause
// Many-body DPD: a repulsion that grows with the local densities of both particles of a pair.
// P. B. Warren, Phys. Rev. E 68, 066702 (2003), "the paper" below; docs/theory/dpd.md.
#pragma once

#include "model.h"
#include "pair_forces.h"

namespace manymove::dpd {

// The constants are the same for all pairs: otherwise the force is not the gradient of any energy
// (P. B. Warren, Phys. Rev. E 87, 045303 (2013)).
template <class F>
struct ManyBody {
  F b;               // B of the force B (rho_i + rho_j) w_d(r)
  F inverse_cutoff;  // 1 / r_d
  F density_scale;   // 15 / (2 pi r_d^3)
};

// 15 / (2 pi r_d^3)
MM_HD double density_scale(double cutoff) {
  return 2.3873241463784303 / (cutoff * cutoff * cutoff);
}
template <class F>
MM_HD ManyBody<F> many_body_of(const ManyBodyCoefficients& many_body) {
  return {static_cast<F>(many_body.b), static_cast<F>(1 / many_body.cutoff),
          static_cast<F>(density_scale(many_body.cutoff))};
}

// Adds a neighbor at this distance to a local density in units of density_scale: w_rho(r) =
// density_scale w_d(r)^2 with w_d = 1 - r / r_d within r_d, whose integral over space is 1. A
// particle is not its own neighbor. factor: that of a special neighbor, otherwise 1.
template <PairMath Math = ExactMath, class F>
MM_HD F with_neighbor(const ManyBody<F>& law, F squared_distance, F factor, F density) {
  F r, inverse;
  Math::root(squared_distance, r, inverse);
  const F w = linear_weight(r, law.inverse_cutoff);
  return fused(factor * w, w, density);
}

// Adds the many-body force and energy of a pair; densities = rho_i + rho_j.
// The sum of all energies is (pi r_d^4 B / 30) sum_i rho_i^2, written as pair terms.
template <PairMath Math = ExactMath, class F>
MM_HD void add_many_body(const ManyBody<F>& law, F squared_distance, F densities,
                         PairForce<F>& pair) {
  F r, inverse;
  Math::root(squared_distance, r, inverse);
  // F = B (rho_i + rho_j) w_d(r) e_ij, and r_d B (rho_i + rho_j) w_d(r)^2 / 4 of the energy.
  const F w = linear_weight(r, law.inverse_cutoff), strength = law.b * densities;
  pair.over_distance = fused(strength * w, inverse, pair.over_distance);
  pair.energy = fused(F(0.25) * (strength / law.inverse_cutoff), w * w, pair.energy);
}

}  // namespace manymove::dpd
