// SPDX-License-Identifier: BSD-3-Clause
// W cells side by side in the lanes of a SIMD register: the operators that the templates of model.h
// ask of a float, for W of them. Included only by sources that are compiled once per SIMD level.
#pragma once

#include "macros.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace manymove {

#if defined(__AVX512F__) && defined(__AVX512VL__)
inline constexpr int kLanes = 16;
#elif defined(__AVX2__)
inline constexpr int kLanes = 8;
#else
inline constexpr int kLanes = 4;
#endif

inline namespace MANYMOVE_SIMD {

typedef float FloatLanes __attribute__((vector_size(4 * kLanes)));
typedef std::int32_t IntLanes __attribute__((vector_size(4 * kLanes)));
typedef std::uint32_t UintLanes __attribute__((vector_size(4 * kLanes)));
typedef std::uint64_t WideLanes __attribute__((vector_size(4 * kLanes)));

inline FloatLanes broadcast(float a) { return FloatLanes{} + a; }
inline FloatLanes add_rn(FloatLanes a, FloatLanes b) { return a + b; }
inline FloatLanes add_rn(FloatLanes a, float b) { return a + b; }
inline FloatLanes mul_rn(FloatLanes a, float b) { return a * b; }
inline FloatLanes exact_multiply_add(FloatLanes a, float b, float c, float d) {
  return (a + b) * c + d;
}
inline FloatLanes as_float(UintLanes bits) { return reinterpret_cast<FloatLanes>(bits); }
inline FloatLanes select(IntLanes mask, FloatLanes a, FloatLanes b) { return mask ? a : b; }

// The even lanes' products, then the odd lanes', then their halves put back in place.
inline void multiply_wide(UintLanes a, std::uint32_t b, UintLanes& high, UintLanes& low) {
  const WideLanes pair = reinterpret_cast<WideLanes>(a);
  const WideLanes factor = WideLanes{} + b;
#if defined(__AVX512F__) && defined(__AVX512VL__)
  const WideLanes even = reinterpret_cast<WideLanes>(
      _mm512_mul_epu32(reinterpret_cast<__m512i>(pair), reinterpret_cast<__m512i>(factor)));
  const WideLanes odd = reinterpret_cast<WideLanes>(
      _mm512_mul_epu32(reinterpret_cast<__m512i>(pair >> 32), reinterpret_cast<__m512i>(factor)));
#elif defined(__AVX2__)
  const WideLanes even = reinterpret_cast<WideLanes>(
      _mm256_mul_epu32(reinterpret_cast<__m256i>(pair), reinterpret_cast<__m256i>(factor)));
  const WideLanes odd = reinterpret_cast<WideLanes>(
      _mm256_mul_epu32(reinterpret_cast<__m256i>(pair >> 32), reinterpret_cast<__m256i>(factor)));
#else
  const WideLanes even = (pair & 0xffffffffu) * factor;
  const WideLanes odd = (pair >> 32) * factor;
#endif
  const WideLanes even_high = even >> 32, odd_low = odd << 32;
#if defined(__AVX512F__) && defined(__AVX512VL__)
  constexpr __mmask16 kOdd = 0xaaaa;
  high = reinterpret_cast<UintLanes>(_mm512_mask_blend_epi32(
      kOdd, reinterpret_cast<__m512i>(even_high), reinterpret_cast<__m512i>(odd)));
  low = reinterpret_cast<UintLanes>(_mm512_mask_blend_epi32(kOdd, reinterpret_cast<__m512i>(even),
                                                            reinterpret_cast<__m512i>(odd_low)));
#elif defined(__AVX2__)
  constexpr int kOdd = 0xaa;
  high = reinterpret_cast<UintLanes>(_mm256_blend_epi32(reinterpret_cast<__m256i>(even_high),
                                                        reinterpret_cast<__m256i>(odd), kOdd));
  low = reinterpret_cast<UintLanes>(_mm256_blend_epi32(reinterpret_cast<__m256i>(even),
                                                       reinterpret_cast<__m256i>(odd_low), kOdd));
#else
  const WideLanes low_half = WideLanes{} + 0xffffffffu;
  high = reinterpret_cast<UintLanes>(even_high | (odd & ~low_half));
  low = reinterpret_cast<UintLanes>((even & low_half) | odd_low);
#endif
}

inline FloatLanes fast_fma(FloatLanes a, FloatLanes b, FloatLanes c) {
#if defined(__AVX512F__) && defined(__AVX512VL__)
  return _mm512_fmadd_ps(a, b, c);
#elif defined(__AVX2__) && defined(__FMA__)
  return _mm256_fmadd_ps(a, b, c);
#else
  return a * b + c;
#endif
}

inline FloatLanes min_of(FloatLanes a, FloatLanes b) {
#if defined(__AVX512F__) && defined(__AVX512VL__)
  return _mm512_min_ps(a, b);
#elif defined(__AVX2__)
  return _mm256_min_ps(a, b);
#elif defined(__SSE2__)
  return _mm_min_ps(a, b);
#else
  return a < b ? a : b;
#endif
}

inline FloatLanes abs_of(FloatLanes a) {
  return reinterpret_cast<FloatLanes>(reinterpret_cast<UintLanes>(a) & 0x7fffffffu);
}

// One bit per lane.
inline std::uint32_t lane_bits(IntLanes mask) {
#if defined(__AVX512F__) && defined(__AVX512VL__)
  return _mm512_movepi32_mask(reinterpret_cast<__m512i>(mask));
#elif defined(__AVX2__)
  return static_cast<std::uint32_t>(_mm256_movemask_ps(reinterpret_cast<__m256>(mask)));
#elif defined(__SSE2__)
  return static_cast<std::uint32_t>(_mm_movemask_ps(reinterpret_cast<__m128>(mask)));
#else
  std::uint32_t bits = 0;
  for (int lane = 0; lane < kLanes; ++lane) bits |= (mask[lane] ? 1u : 0u) << lane;
  return bits;
#endif
}

// base[index[lane]]
inline FloatLanes gather(const float* base, IntLanes index) {
#if defined(__AVX512F__) && defined(__AVX512VL__)
  return _mm512_i32gather_ps(reinterpret_cast<__m512i>(index), base, 4);
#elif defined(__AVX2__)
  return _mm256_i32gather_ps(base, reinterpret_cast<__m256i>(index), 4);
#else
  FloatLanes value;
  for (int lane = 0; lane < kLanes; ++lane) value[lane] = base[index[lane]];
  return value;
#endif
}

}  // namespace MANYMOVE_SIMD
}  // namespace manymove
