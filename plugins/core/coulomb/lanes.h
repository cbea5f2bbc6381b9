// SPDX-License-Identifier: BSD-3-Clause
// The operators that model.h asks of float32 and float64, for SIMD registers of them. Included only
// by sources that are compiled once per SIMD level, before model.h.
#pragma once

#include "../runtime/vec.h"

namespace manymove {
inline namespace MANYMOVE_SIMD {

inline constexpr int kDoubles = kLanes / 2;

typedef double DoubleLanes __attribute__((vector_size(4 * kLanes)));
typedef std::uint64_t LongLanes __attribute__((vector_size(4 * kLanes)));
typedef float HalfLanes __attribute__((vector_size(2 * kLanes)));  // as many as doubles
typedef std::uint32_t HalfUintLanes __attribute__((vector_size(2 * kLanes)));

#define MM_LANES inline __attribute__((always_inline))

MM_LANES UintLanes bits_of(FloatLanes a) { return reinterpret_cast<UintLanes>(a); }
MM_LANES HalfUintLanes bits_of(HalfLanes a) { return reinterpret_cast<HalfUintLanes>(a); }
MM_LANES HalfLanes as_float(HalfUintLanes a) { return reinterpret_cast<HalfLanes>(a); }
MM_LANES LongLanes bits_of(DoubleLanes a) { return reinterpret_cast<LongLanes>(a); }

#if defined(__AVX512F__) && defined(__AVX512VL__)
MM_LANES FloatLanes fused(FloatLanes a, FloatLanes b, FloatLanes c) {
  return _mm512_fmadd_ps(a, b, c);
}
MM_LANES HalfLanes fused(HalfLanes a, HalfLanes b, HalfLanes c) { return _mm256_fmadd_ps(a, b, c); }
MM_LANES DoubleLanes fused(DoubleLanes a, DoubleLanes b, DoubleLanes c) {
  return _mm512_fmadd_pd(a, b, c);
}
MM_LANES HalfLanes narrowed(DoubleLanes a) { return _mm512_cvtpd_ps(a); }
MM_LANES DoubleLanes widened(HalfLanes a) { return _mm512_cvtps_pd(a); }
MM_LANES DoubleLanes min_of(DoubleLanes a, DoubleLanes b) { return _mm512_min_pd(a, b); }
#elif defined(__AVX2__) && defined(__FMA__)
MM_LANES FloatLanes fused(FloatLanes a, FloatLanes b, FloatLanes c) {
  return _mm256_fmadd_ps(a, b, c);
}
MM_LANES HalfLanes fused(HalfLanes a, HalfLanes b, HalfLanes c) { return _mm_fmadd_ps(a, b, c); }
MM_LANES DoubleLanes fused(DoubleLanes a, DoubleLanes b, DoubleLanes c) {
  return _mm256_fmadd_pd(a, b, c);
}
MM_LANES HalfLanes narrowed(DoubleLanes a) { return _mm256_cvtpd_ps(a); }
MM_LANES DoubleLanes widened(HalfLanes a) { return _mm256_cvtps_pd(a); }
MM_LANES DoubleLanes min_of(DoubleLanes a, DoubleLanes b) { return _mm256_min_pd(a, b); }
#else
template <class V>
MM_LANES V fused_one_by_one(V a, V b, V c) {
  V result;
  for (unsigned lane = 0; lane < sizeof(V) / sizeof(a[0]); ++lane)
    result[lane] = fused(a[lane], b[lane], c[lane]);
  return result;
}
MM_LANES FloatLanes fused(FloatLanes a, FloatLanes b, FloatLanes c) {
  return fused_one_by_one(a, b, c);
}
MM_LANES HalfLanes fused(HalfLanes a, HalfLanes b, HalfLanes c) {
  return fused_one_by_one(a, b, c);
}
MM_LANES DoubleLanes fused(DoubleLanes a, DoubleLanes b, DoubleLanes c) {
  return fused_one_by_one(a, b, c);
}
MM_LANES HalfLanes narrowed(DoubleLanes a) { return __builtin_convertvector(a, HalfLanes); }
MM_LANES DoubleLanes widened(HalfLanes a) { return __builtin_convertvector(a, DoubleLanes); }
MM_LANES DoubleLanes min_of(DoubleLanes a, DoubleLanes b) { return a < b ? a : b; }
#endif

}  // namespace MANYMOVE_SIMD
}  // namespace manymove
