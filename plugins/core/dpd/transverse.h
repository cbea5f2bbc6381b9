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

// The key of the third normal variable of each pair. step: the key of the other two.
MM_HD NoiseKey transverse_key(const NoiseKey& step) {
  std::uint32_t word[4] = {step.mask[0], step.mask[1], 0, 0x736e7274u /* "trns" */};
  philox(word, {step.round[0], 0});
  return key_of_words(word);
}

// Three normal variables of a pair; seen from particle j their signs are reversed. order: 1 or -1,
// the reverse when seen from the other particle.
template <class Math = Exact>
MM_HD Vector<float> transverse_noise(const NoiseKey& key, const NoiseKey& third,
                                     std::uint32_t tag_i, std::uint32_t tag_j, float order) {
  std::uint32_t word[2], more[2];
  pair_words(word, key, tag_i, tag_j);
  pair_words(more, third, tag_i, tag_j);
  float x, y;
  Math::normals(word[0], word[1], x, y);
  return {order * x, order * y, order * Math::normal(more[0], more[1])};
}
MM_HD float order_of_tags(std::uint32_t tag_i, std::uint32_t tag_j) {
  return tag_i < tag_j ? 1.0f : -1.0f;
}

// The force on particle i and the energy of the conservative part.
template <class F>
struct VectorForce {
  Vector<F> force;
  F energy;
};

// v = v_i - v_j, noise: xi_ij of transverse_noise(). Its component along e_ij is the noise of
// pair_force(), a normal variable that is independent of the components across e_ij; Eq. 7 of the
// paper has the latter, with the projector 1 - e e.
template <bool general_exponent, class Math = Exact, class F>
MM_HD VectorForce<F> transverse_force(const PairLaw<F>& law, const TransverseLaw<F>& across,
                                      const Vector<F>& r, const Vector<F>& v,
                                      const Vector<F>& noise) {
  const F squared = dot(r, r), approach = dot(r, v);
  F distance, inverse;
  Math::root(squared, distance, inverse);
  const F along = dot(r, noise) * inverse;
  const PairForce<F> pair = pair_force<general_exponent, Math>(law, squared, approach, along);
  const F beyond = fused(-distance, law.inverse_cutoff, F(1));
  F w = beyond > F(0) && inverse > F(0) ? beyond : F(0);
  if constexpr (general_exponent) w = Math::raise(w, across.weight_exponent);
  const F push = across.sigma * w, drag = -(across.gamma * w) * w;
  const F of_v = approach * inverse * inverse, of_noise = along * inverse;
  const auto component = [&](F a, F speed, F xi) {
    const F friction = drag * fused(-a, of_v, speed);
    return fused(a, pair.over_distance, fused(push, fused(-a, of_noise, xi), friction));
  };
  return {
      {component(r.x, v.x, noise.x), component(r.y, v.y, noise.y), component(r.z, v.z, noise.z)},
      pair.energy};
}

}  // namespace manymove::dpd
