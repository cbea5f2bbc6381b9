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

// Operations for which host and device have different words, with the same results.
//
// add_rn(), mul_rn() and multiply_add_unfused(), a b + c with two roundings: no compiler may
// contract them into an fma, so that decisions built on them are the same on every machine. (Host
// sources are compiled with -ffp-contract=off.) fast_fma(): for bounds only, where a rounding more
// or less does not matter. exact_multiply_add(): (a + b) * c + d where a + b and the product are
// exact: one rounding, with or without fma. highest_bit(): the index of the highest bit that is set
// in a mask that is not 0. min_of(), max_of(): vec.h has them for vectors too, so that one template
// serves both. nearest_integer(): rounds to nearest, ties to even.
#if defined(__CUDA_ARCH__)
MM_HD float add_rn(float a, float b) { return __fadd_rn(a, b); }
MM_HD float mul_rn(float a, float b) { return __fmul_rn(a, b); }
MM_HD double mul_rn(double a, double b) { return __dmul_rn(a, b); }
MM_HD double multiply_add_unfused(double a, double b, double c) {
  return __dadd_rn(__dmul_rn(a, b), c);
}
MM_HD float fast_fma(float a, float b, float c) { return __fmaf_rn(a, b, c); }
MM_HD float exact_multiply_add(float a, float b, float c, float d) {
  return __fmaf_rn(a, c, __fmaf_rn(b, c, d));
}
MM_HD int highest_bit(std::uint32_t mask) { return 31 - __clz(static_cast<int>(mask)); }
MM_HD float min_of(float a, float b) { return fminf(a, b); }
MM_HD float max_of(float a, float b) { return fmaxf(a, b); }
MM_HD float fast_log2(float a) {
  asm("lg2.approx.ftz.f32 %0, %0;" : "+f"(a));
  return a;
}
MM_HD std::int32_t nearest_integer(float a) { return __float2int_rn(a); }
MM_HD std::int64_t nearest_integer(double a) { return __double2ll_rn(a); }
#else
MM_HD float add_rn(float a, float b) { return a + b; }
MM_HD float mul_rn(float a, float b) { return a * b; }
MM_HD double mul_rn(double a, double b) { return a * b; }
MM_HD double multiply_add_unfused(double a, double b, double c) { return a * b + c; }
MM_HD float fast_fma(float a, float b, float c) { return a * b + c; }
MM_HD float exact_multiply_add(float a, float b, float c, float d) { return (a + b) * c + d; }
MM_HD int highest_bit(std::uint32_t mask) { return 31 - __builtin_clz(mask); }
MM_HD float min_of(float a, float b) { return a < b ? a : b; }
MM_HD float max_of(float a, float b) { return a > b ? a : b; }
MM_HD float fast_log2(float a) { return __builtin_log2f(a); }
MM_HD std::int32_t nearest_integer(float a) {
  return static_cast<std::int32_t>(__builtin_lrintf(a));
}
MM_HD std::int64_t nearest_integer(double a) { return __builtin_llrint(a); }
#endif
MM_HD double min_of(double a, double b) { return a < b ? a : b; }
MM_HD double max_of(double a, double b) { return a > b ? a : b; }

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

// The other operators that vec.h has for vectors.
MM_HD float abs_of(float a) { return __builtin_fabsf(a); }
MM_HD double abs_of(double a) { return __builtin_fabs(a); }
MM_HD float select(bool mask, float a, float b) { return mask ? a : b; }

// One rounding each, the same everywhere.
MM_HD float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
MM_HD double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }
MM_HD float square_root(float a) { return __builtin_sqrtf(a); }
MM_HD double square_root(double a) { return __builtin_sqrt(a); }

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
