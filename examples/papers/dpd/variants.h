// SPDX-License-Identifier: BSD-3-Clause
// What variants.cu (GPU) and variants.cpp (CPU) share: the paper's functions (section 3.5), the
// particles and lists that variants.py makes, and the force of a pair with the paper's choices of
// random numbers and functions. The engines use the functions of dpd/model.h instead.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "dpd/model.h"
#include "tea.h"

namespace variants {

using namespace manymove;
using namespace manymove::dpd;

// ---- functions ----

// log2(v) of an integer v > 0: the position of its highest bit, and the logarithm of the rest x in
// [1, 2) by z P(z^2) with z = (x - 1) / (x + 1). P has the fewest terms whose interpolation at the
// nodes of Chebyshev has the error that the paper states, 4e-12.
MM_HD double fast_log2(std::uint32_t v) {
  const int integer = highest_bit(v);
  const std::uint64_t mantissa = static_cast<std::uint64_t>(v) << (52 - integer);
  const double x = as_double((mantissa & 0x000fffffffffffffu) | 0x3ff0000000000000u);
  const double z = (x - 1.0) / (x + 1.0);
  const double p =
      polynomial(z * z, 2.8853900817849468906640, 0.9617966877404938796969,
                 0.5770789024763063821543, 0.4121512221274978596892, 0.3217949666557713933417,
                 0.2470259873733899317694, 0.3153813349806505887615);
  return fused(z, p, static_cast<double>(integer));
}

// ln(v / 2^32)
MM_HD double fast_log(std::uint32_t v) { return 0.69314718055994530942 * (fast_log2(v) - 32.0); }

// cos(pi u), and its negative if the highest bit of v is set; u = (v mod 2^31) / 2^31. It is an odd
// polynomial in u - 1/2 of order 11, with six terms.
MM_HD double fast_cospi(std::uint32_t v) {
  const double u = static_cast<double>(static_cast<std::int32_t>(v & 0x7fffffffu)) * 0x1p-31;
  const double y = 0.5 - u;
  const double p = polynomial(y * y, 3.1415926535361320313804, -5.167712764593000019499,
                              2.5501633179384269082055, -0.599252186531582980442,
                              0.0820503502014724751490, -0.007028303855203095989);
  const double cosine = y * p;
  return as_double(bits_of(cosine) ^ static_cast<std::uint64_t>(v >> 31) << 63);
}

// a^b for a > 0 by Algorithm 5. The logarithm and the exponential have errors of less than 1e-16
// before they are rounded.
MM_HD double fast_power(double a, double b) {
  const std::uint64_t bits = bits_of(a);
  const auto integer = static_cast<double>(static_cast<std::int32_t>(bits >> 52) - 1023);
  const double x = as_double((bits & 0x000fffffffffffffu) | 0x3ff0000000000000u);
  const double z = (x - 1.0) / (x + 1.0);
  const double fraction =
      z * polynomial(z * z, 2.8853900817779266871554, 0.9617966939262051039416,
                     0.5770780162875998019486, 0.4121985909049834620757, 0.3205984455335232621004,
                     0.2623232166332299799121, 0.2216509953409951222993, 0.1960810902325307759563,
                     0.1425496536072293513645, 0.2565221979515153295930);
#if defined(__CUDA_ARCH__)
  const double whole = floor(b * (integer + fraction));
#else
  const double whole = std::floor(b * (integer + fraction));
#endif
  const double rest = fused(b, fraction, fused(b, integer, -whole));
  const double scale =
      as_double(static_cast<std::uint64_t>(static_cast<std::int32_t>(whole) + 1023) << 52);
  return scale * polynomial(rest, 0.9999999999999999957751, 0.6931471805599465259473,
                            0.2402265069590427772962, 0.0555041086659011981022,
                            0.0096181290972450296015, 0.0013333558734919515355,
                            0.0001540350928370369056, 0.0000152532311413642625,
                            0.0000013207697492090330, 1.02581888541841741071e-7,
                            6.53860855349925472676e-9, 6.30147811743377885964e-10);
}

// The functions of the compiler's library.
MM_HD double library_cospi(double u) {
#if defined(__CUDA_ARCH__)
  return cospi(u);
#else
  return std::cos(3.14159265358979323846 * u);
#endif
}
MM_HD double library_log(double a) { return log(a); }
MM_HD double library_power(double a, double b) { return pow(a, b); }

// Which function is measured; the order of FUNCTIONS in variants.py.
enum Function { nothing, fastcospi, cospi_, fastlog, log_, fastpow, pow_, ours_log, ours_pow };

// The value of a function for an integer v, or for a and b. v is a fraction of 2^32 (of 2^31 for
// the cosine).
template <int function>
MM_HD double value_of(std::uint32_t v, double a, double b) {
  if constexpr (function == fastcospi) return fast_cospi(v);
  if constexpr (function == cospi_) return library_cospi(a);
  if constexpr (function == fastlog) return fast_log2(v);
  if constexpr (function == log_) return library_log(a);
  if constexpr (function == fastpow) return fast_power(a, b);
  if constexpr (function == pow_) return library_power(a, b);
  if constexpr (function == ours_log) return natural_logarithm(a);
  if constexpr (function == ours_pow) return power(a, b);
  return a;
}

// An argument of the next call that depends on the last value: a is in [1, 2), v is any integer.
MM_HD void chain(double value, std::uint32_t& v, double& a) {
  const std::uint64_t bits = bits_of(value);
  v = static_cast<std::uint32_t>(bits >> 20) | 1u;
  a = as_double((bits & 0x000fffffffffffffu) | 0x3ff0000000000000u);
}

// ---- particles ----

// A cubic periodic box with particles in cells, whose width is at least `reach`.
struct System {
  std::int64_t particles;  // a multiple of 32
  std::int64_t cells;
  double edge;                        // of the box
  float cutoff, reach;                // reach: cutoff and skin
  std::int32_t row, candidates;       // of a list (a multiple of 32), and of a cell's stencil
  std::int32_t repeats;               // of each measurement; the fastest counts
  const double *position, *velocity;  // [particles][3]
  const std::int32_t* tag;            // [particles]
  const std::int32_t* member;         // [particles] by cell
  const std::int32_t* start;          // [cells + 1] first member of each cell
  const std::int32_t* stencil;        // [cells][27] cells near a cell, in ascending order
};

struct Law {
  double a, gamma, sigma, inverse_cutoff, exponent;  // sigma: over the root of the time step
};
// Groot and Warren's fluid with a time step of 0.005 and the exponent 1/2.
MM_HD Law law_of(float cutoff) {
  return {25.0, 4.5, 3.0 / 0.0707106781186547524, 1.0 / cutoff, 0.5};
}

enum Noise { tea_of_signatures, tea_of_tags, philox_of_tags };
enum Arithmetic { fast_functions, library_functions, product_functions };

// Normal variable of a pair in double precision (Box and Muller).
template <int noise, int arithmetic>
MM_HD double normal_of(std::uint32_t word_i, std::uint32_t word_j, const NoiseKey& key) {
  std::uint32_t v0, v1;
  const std::uint32_t words[4] = {key.round[0], key.mask[0], key.mask[1], ~key.round[0]};
  if constexpr (noise == tea_of_signatures) {
    tea_pair<4>(word_i, word_j, words, v0, v1);
  } else if constexpr (noise == tea_of_tags) {
    tea_pair<8>(word_i, word_j, words, v0, v1);
  } else {
    std::uint32_t pair[2];
    pair_words(pair, key, word_i, word_j);
    v0 = pair[0];
    v1 = pair[1];
  }
  v0 |= 1u;
  if constexpr (arithmetic == product_functions) {
    return gaussian(v0, v1);
  } else if constexpr (arithmetic == fast_functions) {
    return square_root(-2.0 * fast_log(v0)) * fast_cospi(v1);
  } else {
    const double cosine =
        library_cospi(static_cast<double>(static_cast<std::int32_t>(v1 & 0x7fffffffu)) * 0x1p-31);
    return square_root(-2.0 * library_log(v0 * 0x1p-32)) * (v1 >> 31 ? -cosine : cosine);
  }
}

// Force on i along r_ij, over the distance (Eqs. 3 to 8). `squared` is below the squared cutoff.
template <int noise, int arithmetic>
MM_HD double force_of(const Law& law, double squared, double approach, std::uint32_t word_i,
                      std::uint32_t word_j, const NoiseKey& key) {
  const double r = square_root(squared);
  const double inverse = r > 1e-10 ? 1.0 / r : 0.0;
  const double w = 1.0 - r * law.inverse_cutoff;
  if (!(w > 0.0)) return 0.0;
  double weight;
  if constexpr (arithmetic == fast_functions) weight = fast_power(w, law.exponent);
  if constexpr (arithmetic == library_functions) weight = library_power(w, law.exponent);
  if constexpr (arithmetic == product_functions) weight = power(w, law.exponent);
  const double normal = normal_of<noise, arithmetic>(word_i, word_j, key);
  return (law.a * w + weight * (law.sigma * normal - law.gamma * weight * (approach * inverse))) *
         inverse;
}

// The nearest image of a difference.
MM_HD float near_image(float difference, float edge, float inverse_edge) {
#if defined(__CUDA_ARCH__)
  return difference - edge * rintf(difference * inverse_edge);
#else
  return difference - edge * __builtin_rintf(difference * inverse_edge);
#endif
}

// ---- checks ----

// The first rows of a table, each sorted.
inline std::vector<std::int32_t> sorted_rows(std::vector<std::int32_t> table, std::int64_t rows,
                                             std::int32_t row,
                                             const std::vector<std::int32_t>& count) {
  std::vector<std::int32_t> found;
  for (std::int64_t i = 0; i < rows; ++i) {
    const auto first = table.begin() + i * row;
    std::sort(first, first + count[i]);
    found.insert(found.end(), first, first + count[i]);
  }
  return found;
}

inline double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double most = 0, scale = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    most = std::max(most, std::fabs(a[k] - b[k]));
    scale = std::max(scale, std::fabs(a[k]));
  }
  return most / scale;
}

}  // namespace variants
