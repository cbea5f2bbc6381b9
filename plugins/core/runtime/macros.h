// SPDX-License-Identifier: BSD-3-Clause
// What lets one function serve the host compiler and nvcc, and keeps its rounding the same in both.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

// MM_HD: a function for host and device. MM_COLD: the same, which nvcc does not inline, so that a
// rare branch costs no registers. MM_CALL: the same, of which a host source has one copy, because
// it is not part of an inner loop. MM_UNROLL and MM_NO_UNROLL stand before a loop.
#if defined(__CUDACC__)
#define MM_HD __host__ __device__ inline
#define MM_UNROLL _Pragma("unroll")
#define MM_NO_UNROLL _Pragma("unroll 1")
#define MM_COLD __host__ __device__ __noinline__ inline
#define MM_CALL MM_HD
#else
#define MM_HD \
  inline __attribute__((always_inline))  // no copy of it for another SIMD level to link to
#define MM_UNROLL _Pragma("GCC unroll 32")
#define MM_NO_UNROLL
#define MM_COLD MM_CALL
#define MM_CALL [[maybe_unused]] static __attribute__((noinline))
#endif

namespace manymove {

// Sums and products that no compiler may contract into an fma: decisions built on them are the same
// on every machine. (Host sources are compiled with -ffp-contract=off.)
MM_HD float add_rn(float a, float b) {
#if defined(__CUDA_ARCH__)
  return __fadd_rn(a, b);
#else
  return a + b;
#endif
}

MM_HD double multiply_add_unfused(double a, double b, double c) {
#if defined(__CUDA_ARCH__)
  return __dadd_rn(__dmul_rn(a, b), c);
#else
  return a * b + c;
#endif
}

MM_HD float mul_rn(float a, float b) {
#if defined(__CUDA_ARCH__)
  return __fmul_rn(a, b);
#else
  return a * b;
#endif
}
MM_HD double mul_rn(double a, double b) {
#if defined(__CUDA_ARCH__)
  return __dmul_rn(a, b);
#else
  return a * b;
#endif
}

// For bounds only, where a rounding more or less does not matter.
MM_HD float fast_fma(float a, float b, float c) {
#if defined(__CUDA_ARCH__)
  return __fmaf_rn(a, b, c);
#else
  return a * b + c;
#endif
}

// (a + b) * c + d where a + b and the product are exact: one rounding, with or without fma.
MM_HD float exact_multiply_add(float a, float b, float c, float d) {
#if defined(__CUDA_ARCH__)
  return __fmaf_rn(a, c, __fmaf_rn(b, c, d));
#else
  return (a + b) * c + d;
#endif
}

// The index of the highest bit that is set; mask is not 0.
MM_HD int highest_bit(std::uint32_t mask) {
#if defined(__CUDA_ARCH__)
  return 31 - __clz(static_cast<int>(mask));
#else
  return 31 - __builtin_clz(mask);
#endif
}

// Calls task(std::integral_constant) with the one of these constants that the value equals, or with
// the last one: what is compiled once for each of them.
#if defined(__CUDACC__)
#pragma nv_exec_check_disable
#endif
template <auto First, auto... Others, class Value, class Task>
MM_HD auto for_constant(Value value, const Task& task) {
  using Constant = std::integral_constant<decltype(First), First>;
  if constexpr (sizeof...(Others) > 0)
    if (value != First) return for_constant<Others...>(value, task);
  return task(Constant{});
}

// The same bits as another type.
template <class To, class From>
MM_HD To reinterpreted(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}
MM_HD float as_float(std::uint32_t bits) { return reinterpreted<float>(bits); }
MM_HD double as_double(std::uint64_t bits) { return reinterpreted<double>(bits); }
MM_HD std::uint32_t bits_of(float a) { return reinterpreted<std::uint32_t>(a); }
MM_HD std::uint64_t bits_of(double a) { return reinterpreted<std::uint64_t>(a); }

// The operators that vec.h has for vectors too, so that one template serves both.
MM_HD float min_of(float a, float b) {
#if defined(__CUDA_ARCH__)
  return fminf(a, b);
#else
  return a < b ? a : b;
#endif
}
MM_HD double min_of(double a, double b) { return a < b ? a : b; }
MM_HD float max_of(float a, float b) {
#if defined(__CUDA_ARCH__)
  return fmaxf(a, b);
#else
  return a > b ? a : b;
#endif
}
MM_HD double max_of(double a, double b) { return a > b ? a : b; }
MM_HD float abs_of(float a) { return __builtin_fabsf(a); }
MM_HD double abs_of(double a) { return __builtin_fabs(a); }
MM_HD float select(bool mask, float a, float b) { return mask ? a : b; }

// One rounding each, the same everywhere.
MM_HD float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
MM_HD double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }
MM_HD float square_root(float a) { return __builtin_sqrtf(a); }
MM_HD double square_root(double a) { return __builtin_sqrt(a); }

// Rounds to nearest, ties to even.
MM_HD std::int32_t nearest_integer(float a) {
#if defined(__CUDA_ARCH__)
  return __float2int_rn(a);
#else
  return static_cast<std::int32_t>(__builtin_lrintf(a));
#endif
}
MM_HD std::int64_t nearest_integer(double a) {
#if defined(__CUDA_ARCH__)
  return __double2ll_rn(a);
#else
  return __builtin_llrint(a);
#endif
}

// To the nearest float, and back to double, which is exact.
MM_HD float narrowed(double a) { return static_cast<float>(a); }
MM_HD double widened(float a) { return static_cast<double>(a); }

// Horner's rule, c + x (c1 + x (c2 + ...)), with one rounding per step.
template <class F, class... Rest>
MM_HD F polynomial(F, F c) {
  return c;
}
template <class F, class... Rest>
MM_HD F polynomial(F x, F c, F c1, Rest... rest) {
  return fused(x, polynomial(x, c1, rest...), c);
}

}  // namespace manymove
