// SPDX-License-Identifier: BSD-3-Clause
// Dissipative particle dynamics: the physics and the random numbers, the same for every backend.
// Y.-H. Tang, G. E. Karniadakis, Comput. Phys. Commun. 185, 2809 (2014), "the paper" below.
// Why it is right, and what differs from the paper: docs/theory/dpd.md.
//
// Everything here is made of IEEE operations: integers, sums, products, fma, division and square
// root, with nothing left to contract, so that a CPU and a GPU give the same bits.
#pragma once

#include <concepts>
#include <cstdint>

#include "../runtime/macros.h"
#include "../runtime/philox.h"
#include "vector.h"

namespace manymove::dpd {

// ---- random numbers ----

// What is the same for all pairs of one step.
struct NoiseKey {
  std::uint32_t round[10], mask[2];
};

// The key that four random words make.
MM_HD NoiseKey key_of_words(const std::uint32_t word[4]) {
  NoiseKey key{{}, {word[1], word[2]}};
  for (std::uint32_t round = 0; round < 10; ++round)
    key.round[round] = word[0] + round * 0x9E3779B9u;
  return key;
}

// draw: number of the draw, which is the time step unless steps were repeated.
MM_HD NoiseKey noise_key(std::uint64_t seed, std::uint64_t draw) {
  std::uint32_t word[4] = {static_cast<std::uint32_t>(draw), static_cast<std::uint32_t>(draw >> 32),
                           0x647064u /* "dpd" */, 0};
  philox(word, {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
  return key_of_words(word);
}

// In a periodic box narrower than twice the cutoff, several images of one particle can be neighbors
// of another. Each of these pairs has its own random numbers, from this key. image: result of
// image_of_pair(), not 0.
MM_HD NoiseKey image_key(const NoiseKey& step, std::uint32_t image) {
  std::uint32_t word[4] = {step.mask[0], step.mask[1], image, 0x676d69u /* "img" */};
  philox(word, {step.round[0], 0});
  return key_of_words(word);
}

// The image of a pair, the same for both of its particles. shift: periods from the particle with
// tag_j to the image of it that is a neighbor of particle i, along each edge of the box. Seen from
// particle j the signs are reversed, so that they are counted from the smaller tag to the larger
// one; a particle and its own image count the first period that is not 0 as positive. Ten bits hold
// each number of periods: images are told apart up to 511 periods away.
MM_HD int order_of_pair(const int shift[3], std::uint32_t tag_i, std::uint32_t tag_j) {
  const int first = shift[0] ? shift[0] : shift[1] ? shift[1] : shift[2];
  return tag_i > tag_j || (tag_i == tag_j && first < 0) ? -1 : 1;
}
MM_HD std::uint32_t image_of_pair(const int shift[3], std::uint32_t tag_i, std::uint32_t tag_j) {
  const int sign = order_of_pair(shift, tag_i, tag_j);
  std::uint32_t image = 0;
  for (int a = 0; a < 3; ++a)
    image |= (static_cast<std::uint32_t>(sign * shift[a]) & 0x3ffu) << 10 * a;
  return image;
}

// sqrt(-2 ln u) with u uniform in (0, 1), an odd integer times 2^-31, rounded to float32.
MM_HD float normal_radius(std::uint32_t for_radius) {
  const auto n = static_cast<float>(static_cast<std::int32_t>(for_radius >> 1 | 1u));
  // n = 2^e (1 + z) with 1 + z between sqrt(1/2) and sqrt(2)
  const std::uint32_t shifted = bits_of(n) + (0x3f800000u - 0x3f3504f3u);
  const auto e = static_cast<float>(static_cast<std::int32_t>(shifted >> 23) - (127 + 31));
  const float z = as_float((shifted & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
  // -2 ln(1 + z) / z, relative error 3e-8
  const float p =
      polynomial(z, -1.999999948f, 0.9999997594f, -0.6666837106f, 0.5000414705f, -0.3991367285f,
                 0.3312481585f, -0.2990450895f, 0.2873347505f, -0.174445175f);
  return square_root(fused(e, -1.386294361f, z * p));
}
// sin(pi y / 2) for y in [-1, 1]
MM_HD float quarter_sine(float y) {
  // sin(pi y / 2) / y, relative error 5e-9
  const float q = polynomial(y * y, 1.570796318f, -0.6459637106f, 0.07968967896f, -0.004673766625f,
                             0.000151485136f);
  return y * q;
}

// A normal variable from two random words by Box and Muller: sqrt(-2 ln u) sin(pi y / 2) with u
// uniform in (0, 1) and y in (-1, 1). Both are odd integers times 2^-31, so that the distribution
// is symmetric and the largest value 6.56; u is rounded to float32. Absolute error below 2e-6.
MM_HD float gaussian(std::uint32_t for_radius, std::uint32_t for_angle) {
  const float radius = normal_radius(for_radius);
  const float y = static_cast<float>(static_cast<std::int32_t>(for_angle | 1u)) * 0x1p-31f;
  return radius * quarter_sine(y);
}

// Two independent normal variables from one random word by Box and Muller. The upper 22 bits are a
// uniform variable, k + 1/2 over 2^22, so that the largest value is 5.65; the lower 10 bits choose
// one of 1,024 equidistant directions. The variances have relative errors of 1e-7, the fourth
// moments of 2e-6. turn: 0, or half_turn, which reverses the signs of both.
constexpr std::uint32_t half_turn = 0x80000000u;
MM_HD std::uint32_t direction_of_word(std::uint32_t word, std::uint32_t turn) {
  return (word << 22) + (0x200000u + turn);  // of a whole turn, in units of 2^-32
}
MM_HD void two_gaussians(std::uint32_t word, std::uint32_t turn, float& first, float& second) {
  const std::uint32_t direction = direction_of_word(word, turn);
  const float radius =
      as_float(bits_of(normal_radius((word | 0x200u) & ~0x1ffu)) ^ (direction & half_turn));
  const float y =
      1.0f - static_cast<float>(static_cast<std::int32_t>(direction & ~half_turn)) * 0x1p-30f;
  first = radius * quarter_sine(y);
  second = radius * quarter_sine(1.0f - abs_of(y));
}

// Two random words for each pair and step, symmetric in i and j. A function of the tags alone, so
// that every rank that sees the pair draws the same ones.
template <class U>
MM_HD void pair_words(U word[2], const NoiseKey& key, U tag_i, U tag_j) {
  word[0] = (tag_i < tag_j ? tag_i : tag_j) ^ key.mask[0];
  word[1] = (tag_i < tag_j ? tag_j : tag_i) ^ key.mask[1];
  philox_pair(word, key.round);
}

// How roots, ratios, normal variables and powers are computed: with IEEE operations, the same
// everywhere.
struct ExactMath {
  template <class F>
  static MM_HD void root(F squared, F& r, F& inverse) {
    r = square_root(squared);
    inverse = r > F(1e-10) ? F(1) / r : F(0);
  }
  static MM_HD float normal(std::uint32_t for_radius, std::uint32_t for_angle) {
    return gaussian(for_radius, for_angle);
  }
  static MM_HD void normals(std::uint32_t word, std::uint32_t turn, float& first, float& second) {
    two_gaussians(word, turn, first, second);
  }
  template <class F>
  static MM_HD F ratio(F a, F b) {
    return a / b;
  }
  template <class F>
  static MM_HD F square_root(F a) {
    return manymove::square_root(a);
  }
  // Whether two particles at this distance, from root(), are in different places.
  template <class F>
  static MM_HD bool apart(F, F r) {
    return r > F(1e-10);
  }
  template <class F>
  static MM_HD F raise(F base, F exponent);
};

// Arithmetic of a pair: roots, ratios, normal variables, powers.
template <class M>
concept PairMath = requires(float f, std::uint32_t w) {
  M::root(f, f, f);
  { M::normal(w, w) } -> std::same_as<float>;
  M::normals(w, w, f, f);
  { M::apart(f, f) } -> std::same_as<bool>;
  { M::ratio(f, f) } -> std::same_as<float>;
  { M::square_root(f) } -> std::same_as<float>;
  { M::raise(f, f) } -> std::same_as<float>;
};

// xi_ij of Eq. 5, a normal variable.
template <PairMath Math = ExactMath>
MM_HD float pair_noise(const NoiseKey& key, std::uint32_t tag_i, std::uint32_t tag_j) {
  std::uint32_t word[2];
  pair_words(word, key, tag_i, tag_j);
  return Math::normal(word[0], word[1]);
}

// Half a turn if i has the larger tag, so that signs seen from i and from j differ.
MM_HD std::uint32_t turn_of_pair(std::uint32_t tag_i, std::uint32_t tag_j) {
  return tag_i < tag_j ? 0 : half_turn;
}

// Three normal variables of a pair, whose signs are reversed seen from particle j, and one that is
// the same for both. turn: that of turn_of_pair(), the other one when seen from the other particle.
template <PairMath Math = ExactMath>
MM_HD Vector<float> vector_and_scalar_noise(const NoiseKey& key, std::uint32_t tag_i,
                                            std::uint32_t tag_j, std::uint32_t turn,
                                            float& scalar) {
  std::uint32_t word[2];
  pair_words(word, key, tag_i, tag_j);
  Vector<float> xi;
  float fourth;
  Math::normals(word[0], turn, xi.x, xi.y);
  Math::normals(word[1], turn, xi.z, fourth);
  scalar = as_float(bits_of(fourth) ^ turn);
  return xi;
}

// ---- weights ----

// base^exponent for a base in [0, 1] and an exponent >= 0, by 2^(exponent log2(base)) as in
// Algorithm 5 of the paper; 0^0 is 0 here, since a pair at the cutoff feels nothing (Eq. 6), and so
// is what lies below 2^-120 (float) or 2^-1000. The base must not be a denormal number: a weight
// 1 - r / r_c is at least 2^-53.
MM_HD float power(float base, float exponent) {
  const std::uint32_t shifted = bits_of(base) + (0x3f800000u - 0x3f3504f3u);
  const auto e = static_cast<float>(static_cast<std::int32_t>(shifted >> 23) - 127);
  const float z = as_float((shifted & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
  const float p = polynomial(z, 1.44269500366f, -0.721347346874f, 0.480910641567f, -0.360703674854f,
                             0.287916289451f, -0.238945037766f, 0.215715433829f, -0.207268209795f,
                             0.125835594432f);
  const float fraction = z * p;  // of log2(base), the integer part is e
  const float y = exponent * fused(z, p, e);
  const float rounded = y + 12582912.0f;  // 1.5 * 2^23: the integer is in the low bits
  const float f = fused(exponent, fraction, fused(exponent, e, 12582912.0f - rounded));
  const float scale = as_float((bits_of(rounded) + 127u) << 23);
  const float result =
      scale * polynomial(f, 1.00000000055f, 0.693147205736f, 0.240226468912f, 0.0555032877851f,
                         0.00961848889795f, 0.00133999307896f, 0.000153458273815f);
  return base > 0.0f && y > -120.0f ? result : 0.0f;
}

// log2(base) = e + s p, for a base above 0 that is not a denormal number.
struct BinaryLogarithm {
  double e, s, p;
};
MM_HD BinaryLogarithm binary_logarithm(double base) {
  constexpr std::uint64_t half_root = 0x3fe6a09e667f3bcdu;  // sqrt(1/2)
  const std::uint64_t shifted = bits_of(base) + (0x3ff0000000000000u - half_root);
  // The exponent as a double, without a conversion of 64 bits: 1.5 * 2^52 holds it in its low bits.
  const double e = as_double(0x4338000000000000u + (shifted >> 52)) - (6755399441055744.0 + 1023.0);
  const double z = as_double((shifted & 0x000fffffffffffffu) + half_root) - 1.0;
  const double s = z / (2.0 + z), t = s * s;
  const double p =
      polynomial(t, 2.8853900817779268114, 0.96179669392598982026, 0.57707801634547042499,
                 0.41219858585106456814, 0.32059853392646233611, 0.26233440174514729824,
                 0.22091186685788852995, 0.21367077946267186606);
  return {e, s, p};
}
MM_HD double natural_logarithm(double base) {
  const BinaryLogarithm log2 = binary_logarithm(base);
  return 0.69314718055994530942 * fused(log2.s, log2.p, log2.e);
}

// 2^(n + f) for |f| up to 1/2, where rounded = n + 1.5 * 2^52.
MM_HD double binary_power(double rounded, double f) {
  const double scale = as_double((bits_of(rounded) + 1023u) << 52);
  return scale *
         polynomial(f, 0.9999999999999999971, 0.69314718055994533045, 0.24022650695910156194,
                    0.055504108664819921999, 0.0096181291075883388805, 0.001333355814678983701,
                    0.00015403530462509966101, 0.000015252733490062370866, 1.3215433091849114785e-6,
                    1.0178197993382467131e-7, 7.0741052512368323548e-9, 4.4352866745874167032e-10);
}

MM_HD double power(double base, double exponent) {
  const auto [e, s, p] = binary_logarithm(base);
  const double fraction = s * p;
  const double y = exponent * fused(s, p, e);
  // b^x = 2^n 2^f: n, the integer nearest to y = x log2 b, is in the low bits of `rounded`, and f
  // is the rest, from the parts of log2 b so that the rounding of y does not count.
  const double rounded = y + 6755399441055744.0;
  const double f = fused(exponent, fraction, fused(exponent, e, 6755399441055744.0 - rounded));
  const double result = binary_power(rounded, f);
  return base > 0.0 && y > -1000.0 ? result : 0.0;
}

template <class F>
MM_HD F ExactMath::raise(F base, F exponent) {
  return power(base, exponent);
}

// ---- the pair force ----

template <class F>
struct PairLaw {
  F a;                // Eq. 3
  F gamma;            // Eq. 4
  F sigma;            // Eq. 5, over the root of the time step
  F inverse_cutoff;   // 1 / r_c
  F weight_exponent;  // s of Eq. 8
};

// w_C = 1 - r / r_c, zero beyond the cutoff (Eq. 6).
template <class F>
MM_HD F linear_weight(F r, F inverse_cutoff) {
  const F beyond = fused(-r, inverse_cutoff, F(1));
  return beyond > F(0) ? beyond : F(0);
}

// What a pair at distance r within the cutoff feels: the force on i along e_ij over r (multiply it
// with r_ij), and the energy of the conservative part, zero at the cutoff.
template <class F>
struct PairForce {
  F over_distance, energy;
};

// squared_distance = |r_ij|^2, approach = r_ij . v_ij, noise = xi_ij. Two particles in one place
// have no direction: they feel no force, as in LAMMPS.
template <bool general_exponent, PairMath Math = ExactMath, class F>
MM_HD PairForce<F> pair_force(const PairLaw<F>& law, F squared_distance, F approach, F noise) {
  F r, inverse;  // |r_ij| and 1 / |r_ij|
  Math::root(squared_distance, r, inverse);
  // w_C, and w_R = w_C^s (Eq. 8).
  const F w = linear_weight(r, law.inverse_cutoff);
  const F w_random = general_exponent ? Math::raise(w, law.weight_exponent) : w;
  // F_C = a w_C (Eq. 3); F_D = -gamma w_R^2 (e . v) (Eqs. 4 and 7); F_R = sigma w_R xi / sqrt(dt)
  // (Eq. 5), where sigma is over the root of the time step already. One factor w_R of the last two
  // is taken out.
  const F dissipative = -(law.gamma * w_random) * (approach * inverse);
  const F force = fused(law.a, w, w_random * fused(law.sigma, noise, dissipative));
  return {force * inverse, F(0.5) * (law.a / law.inverse_cutoff) * (w * w)};
}

}  // namespace manymove::dpd
