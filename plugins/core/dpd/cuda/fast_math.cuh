// SPDX-License-Identifier: BSD-3-Clause
// Arithmetic in float32 with the special-function units of a GPU.
#pragma once

#include "../fixed_point.h"
#include "../model.h"

namespace manymove::dpd {

// Relative errors of a few 1e-7; a normal variable is within 1e-6 of ExactMath's, except where it
// is below 1e-3 in both.
struct FastMath {
  static __device__ void root(float squared, float& r, float& inverse) {
    // 1 / r of r^2, and r = r^2 / r.
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(squared));
    inverse = squared > 1e-20f ? inverse : 0.0f;
    r = squared * inverse;
  }
  static __device__ float normal(std::uint32_t for_radius, std::uint32_t for_angle) {
    const auto n = static_cast<float>(static_cast<std::int32_t>(for_radius >> 1 | 1u));
    float logarithm, radius, sine;
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(logarithm) : "f"(n));
    // -2 ln(n / 2^31); n may have been rounded up to 2^31
    const float squared = fmaxf(__fmaf_rn(logarithm, -1.386294361f, 31 * 1.386294361f), 0.0f);
    // sqrt(-2 ln u) sin(pi y / 2), as in gaussian()
    asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(radius) : "f"(squared));
    const float y = static_cast<float>(static_cast<std::int32_t>(for_angle | 1u));
    asm("sin.approx.ftz.f32 %0, %1;" : "=f"(sine) : "f"(y * (1.570796327f * 0x1p-31f)));
    return radius * sine;
  }
  static __device__ void normals(std::uint32_t word, std::uint32_t turn, float& first,
                                 float& second) {
    const auto n = static_cast<float>(static_cast<std::int32_t>(word >> 9 | 1u));
    const auto direction = static_cast<std::int32_t>(direction_of_word(word, 0));
    float logarithm, radius, sine, cosine;
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(logarithm) : "f"(n));
    // -2 ln(n / 2^23), without the sign that rounding may give it
    const float squared = fabsf(__fmaf_rn(logarithm, -1.386294361f, 23 * 1.386294361f));
    asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(radius) : "f"(squared));
    // Box and Muller: sqrt(-2 ln u) cos(phi) and sqrt(-2 ln u) sin(phi) are independent.
    const float angle = static_cast<float>(direction) * (3.141592654f * 0x1p-31f);
    asm("sin.approx.ftz.f32 %0, %1;" : "=f"(sine) : "f"(angle));
    asm("cos.approx.ftz.f32 %0, %1;" : "=f"(cosine) : "f"(angle));
    // Exactly the reverse with half_turn.
    const float length = as_float(bits_of(radius) ^ turn);
    first = length * cosine;
    second = length * sine;
  }
  static __device__ float ratio(float a, float b) {
    float inverse;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(b));
    return a * inverse;
  }
  static __device__ float square_root(float a) {
    float result;
    asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(a));
    return result;
  }
  static __device__ bool apart(float squared, float) { return squared > 1e-20f; }
  static __device__ float raise(float base, float exponent) {
    float logarithm, result;  // base^exponent = 2^(exponent log2(base))
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(logarithm) : "f"(base));
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(exponent * logarithm));
    return base > 0.0f ? result : 0.0f;
  }
};

template <Precision P>
using MathOf = std::conditional_t<std::is_same_v<typename P::Real, float>, FastMath, ExactMath>;

}  // namespace manymove::dpd
