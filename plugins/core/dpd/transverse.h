// SPDX-License-Identifier: BSD-3-Clause
// Friction and noise across the line of centers of a pair, in addition to those along it.
// C. Junghans, M. Praprotnik, K. Kremer, Soft Matter 4, 156 (2008), "the paper" below;
// docs/theory/dpd.md.
#pragma once

#include "fixed_point.h"
#include "model.h"

namespace manymove::dpd {

// Coefficients like those of PairLaw.
template <class F>
struct TransverseLaw {
  F gamma, sigma, weight_exponent;
};

// Coefficients of a pair of types with weight exponents 1: along the line of centers, what is more
// than across it.
template <class F>
MM_HD PairLaw<F> beyond_transverse(PairLaw<F> law, const TransverseLaw<F>& across) {
  law.gamma -= across.gamma;
  law.sigma -= across.sigma;
  return law;
}

// The vector of vector_and_scalar_noise() alone.
template <PairMath Math = ExactMath>
MM_HD Vector<float> transverse_noise(const NoiseKey& key, std::uint32_t tag_i, std::uint32_t tag_j,
                                     std::uint32_t turn) {
  float unused;
  return vector_and_scalar_noise<Math>(key, tag_i, tag_j, turn, unused);
}

// The force on particle i and the energy of the conservative part.
template <class F>
struct VectorForce {
  Vector<F> force;
  F energy;
};

// v = v_i - v_j, noise: xi_ij of transverse_noise(). Its component along e_ij is the noise of
// pair_force(), a normal variable that is independent of the components across e_ij; Eq. 7 of the
// paper has the latter, with the projector 1 - e e. Friction and noise act here as if they had no
// direction, and along the line of centers acts what differs from that: law is that of
// beyond_transverse() if all weight exponents are 1.
template <bool general_exponent, PairMath Math = ExactMath, class F>
MM_HD VectorForce<F> transverse_force(const PairLaw<F>& law, const TransverseLaw<F>& across,
                                      const Vector<F>& r, const Vector<F>& v,
                                      const Vector<F>& noise) {
  const F squared = dot(r, r), approach = dot(r, v);
  F distance, inverse;
  Math::root(squared, distance, inverse);
  const F along = dot(r, noise) * inverse;
  PairForce<F> pair = pair_force<general_exponent, Math>(law, squared, approach, along);
  F w = linear_weight(distance, law.inverse_cutoff);
  w = Math::apart(squared, distance) ? w : F(0);
  if constexpr (general_exponent) w = Math::raise(w, across.weight_exponent);
  // The random force sigma w xi and the friction -gamma w^2 v, in all three directions.
  const F push = across.sigma * w, drag = -(across.gamma * w) * w;
  if constexpr (general_exponent)
    pair.over_distance =
        fused(-inverse, fused(push, along, drag * (approach * inverse)), pair.over_distance);
  const auto component = [&](F a, F speed, F xi) {
    return fused(a, pair.over_distance, fused(push, xi, drag * speed));
  };
  return {
      {component(r.x, v.x, noise.x), component(r.y, v.y, noise.y), component(r.z, v.z, noise.z)},
      pair.energy};
}

}  // namespace manymove::dpd
