// SPDX-License-Identifier: BSD-3-Clause
// Vectors of a SIMD register's width, and the operators that the templates of a model.h ask of a
// float or a double, for all lanes at a time. Included only by sources that are compiled once per
// SIMD level, before a model.h.
#pragma once

#include <cstring>

#include "macros.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace manymove {

// Lanes of float32 in a register of this level.
#if defined(__AVX512F__) && defined(__AVX512VL__)
inline constexpr int kLanes = 16;
#elif defined(__AVX2__)
inline constexpr int kLanes = 8;
#else
inline constexpr int kLanes = 4;
#endif

// An inline namespace per level: the linker must not take one level's copy of a function for
// another.
inline namespace MANYMOVE_SIMD {

typedef float FloatLanes __attribute__((vector_size(4 * kLanes)));
typedef std::int32_t IntLanes __attribute__((vector_size(4 * kLanes)));
typedef std::uint32_t UintLanes __attribute__((vector_size(4 * kLanes)));
typedef std::uint64_t WideLanes __attribute__((vector_size(4 * kLanes)));

// Float64, and as many float32.
inline constexpr int kDoubles = kLanes / 2;
typedef double DoubleLanes __attribute__((vector_size(4 * kLanes)));
typedef float HalfLanes __attribute__((vector_size(2 * kLanes)));
typedef std::uint32_t HalfUintLanes __attribute__((vector_size(2 * kLanes)));

// Four words, in a register of 128 bits at every level.
typedef std::int32_t FourInts __attribute__((vector_size(16)));
typedef std::uint32_t FourWords __attribute__((vector_size(16)));
typedef float FourFloats __attribute__((vector_size(16)));

#define MM_LANES inline __attribute__((always_inline))

// ---- what each level has instructions for ----
//
// even_products(): of the even 32-bit lanes, in 64 bits. of_even_and_odd(): the even lanes of one
// vector with the odd ones of another. gather(): base[index[lane]]. lane_bits(): bit l is set where
// lane l of a mask, the result of a comparison, is true. fused(): a b + c with a single rounding;
// without the instruction it is computed lane by lane, so that all levels make the same decisions.
#if defined(__AVX512F__) && defined(__AVX512VL__)
MM_LANES WideLanes even_products(WideLanes a, WideLanes b) {
  return WideLanes(_mm512_mul_epu32(__m512i(a), __m512i(b)));
}
MM_LANES UintLanes of_even_and_odd(WideLanes even, WideLanes odd) {
  return UintLanes(_mm512_mask_blend_epi32(0xaaaa, __m512i(even), __m512i(odd)));
}
inline FloatLanes gather(const float* base, IntLanes index) {
  return _mm512_i32gather_ps(__m512i(index), base, 4);
}
inline std::uint32_t lane_bits(IntLanes mask) { return _mm512_movepi32_mask(__m512i(mask)); }
inline FloatLanes min_of(FloatLanes a, FloatLanes b) { return _mm512_min_ps(a, b); }
MM_LANES DoubleLanes min_of(DoubleLanes a, DoubleLanes b) { return _mm512_min_pd(a, b); }
MM_LANES HalfLanes narrowed(DoubleLanes a) { return _mm512_cvtpd_ps(a); }
MM_LANES DoubleLanes widened(HalfLanes a) { return _mm512_cvtps_pd(a); }
MM_LANES FloatLanes fused(FloatLanes a, FloatLanes b, FloatLanes c) {
  return _mm512_fmadd_ps(a, b, c);
}
MM_LANES HalfLanes fused(HalfLanes a, HalfLanes b, HalfLanes c) { return _mm256_fmadd_ps(a, b, c); }
MM_LANES DoubleLanes fused(DoubleLanes a, DoubleLanes b, DoubleLanes c) {
  return _mm512_fmadd_pd(a, b, c);
}
MM_LANES FourFloats fused(FourFloats a, FourFloats b, FourFloats c) {
  return _mm_fmadd_ps(a, b, c);
}
#elif defined(__AVX2__)
MM_LANES WideLanes even_products(WideLanes a, WideLanes b) {
  return WideLanes(_mm256_mul_epu32(__m256i(a), __m256i(b)));
}
MM_LANES UintLanes of_even_and_odd(WideLanes even, WideLanes odd) {
  return UintLanes(_mm256_blend_epi32(__m256i(even), __m256i(odd), 0xaa));
}
inline FloatLanes gather(const float* base, IntLanes index) {
  return _mm256_i32gather_ps(base, __m256i(index), 4);
}
inline std::uint32_t lane_bits(IntLanes mask) {
  return static_cast<std::uint32_t>(_mm256_movemask_ps(__m256(mask)));
}
inline FloatLanes min_of(FloatLanes a, FloatLanes b) { return _mm256_min_ps(a, b); }
MM_LANES DoubleLanes min_of(DoubleLanes a, DoubleLanes b) { return _mm256_min_pd(a, b); }
MM_LANES HalfLanes narrowed(DoubleLanes a) { return _mm256_cvtpd_ps(a); }
MM_LANES DoubleLanes widened(HalfLanes a) { return _mm256_cvtps_pd(a); }
MM_LANES FloatLanes fused(FloatLanes a, FloatLanes b, FloatLanes c) {
  return _mm256_fmadd_ps(a, b, c);
}
MM_LANES HalfLanes fused(HalfLanes a, HalfLanes b, HalfLanes c) { return _mm_fmadd_ps(a, b, c); }
MM_LANES DoubleLanes fused(DoubleLanes a, DoubleLanes b, DoubleLanes c) {
  return _mm256_fmadd_pd(a, b, c);
}
#else
MM_LANES WideLanes even_products(WideLanes a, WideLanes b) { return (a & 0xffffffffu) * b; }
MM_LANES UintLanes of_even_and_odd(WideLanes even, WideLanes odd) {
  return UintLanes((even & 0xffffffffu) | (odd & ~std::uint64_t{0xffffffffu}));
}
inline FloatLanes gather(const float* base, IntLanes index) {
  FloatLanes value;
  for (int lane = 0; lane < kLanes; ++lane) value[lane] = base[index[lane]];
  return value;
}
inline std::uint32_t lane_bits(IntLanes mask) {
#if defined(__SSE2__)
  return static_cast<std::uint32_t>(_mm_movemask_ps(__m128(mask)));
#else
  std::uint32_t bits = 0;
  for (int lane = 0; lane < kLanes; ++lane) bits |= (mask[lane] ? 1u : 0u) << lane;
  return bits;
#endif
}
inline FloatLanes min_of(FloatLanes a, FloatLanes b) {
#if defined(__SSE2__)
  return _mm_min_ps(a, b);
#else
  return a < b ? a : b;
#endif
}
MM_LANES DoubleLanes min_of(DoubleLanes a, DoubleLanes b) { return a < b ? a : b; }
MM_LANES HalfLanes narrowed(DoubleLanes a) { return __builtin_convertvector(a, HalfLanes); }
MM_LANES DoubleLanes widened(HalfLanes a) { return __builtin_convertvector(a, DoubleLanes); }
template <class V, class = decltype(V{}[0])>
MM_LANES V fused(V a, V b, V c) {
  V result;
  for (unsigned lane = 0; lane < sizeof(V) / sizeof(a[0]); ++lane)
    result[lane] = manymove::fused(a[lane], b[lane], c[lane]);
  return result;
}
#endif

// ---- the same at every level ----

inline FloatLanes broadcast(float a) { return FloatLanes{} + a; }
inline FloatLanes add_rn(FloatLanes a, FloatLanes b) { return a + b; }
inline FloatLanes add_rn(FloatLanes a, float b) { return a + b; }
inline FloatLanes mul_rn(FloatLanes a, float b) { return a * b; }
inline FloatLanes exact_multiply_add(FloatLanes a, float b, float c, float d) {
  return (a + b) * c + d;
}
// For bounds only: with one rounding or with two, as the level has it.
inline FloatLanes fast_fma(FloatLanes a, FloatLanes b, FloatLanes c) {
#if defined(__FMA__)
  return fused(a, b, c);
#else
  return a * b + c;
#endif
}
inline FloatLanes select(IntLanes mask, FloatLanes a, FloatLanes b) { return mask ? a : b; }

inline FloatLanes as_float(UintLanes bits) { return FloatLanes(bits); }
MM_LANES UintLanes bits_of(FloatLanes a) { return UintLanes(a); }
MM_LANES HalfLanes as_float(HalfUintLanes a) { return HalfLanes(a); }
MM_LANES HalfUintLanes bits_of(HalfLanes a) { return HalfUintLanes(a); }
MM_LANES WideLanes bits_of(DoubleLanes a) { return WideLanes(a); }
// Clears the sign bits.
inline FloatLanes abs_of(FloatLanes a) { return FloatLanes(UintLanes(a) & 0x7fffffffu); }
MM_LANES DoubleLanes abs_of(DoubleLanes a) {
  return DoubleLanes(WideLanes(a) & ~(std::uint64_t{1} << 63));
}

// The 64-bit product of each lane with b, as its two halves. The instructions multiply every second
// lane: first the even ones, then the odd ones. The high half of an even product moves down to its
// lane, and the low half of an odd one moves up.
inline void multiply_wide(UintLanes a, std::uint32_t b, UintLanes& high, UintLanes& low) {
  const WideLanes factor = WideLanes{} + b, even = even_products(WideLanes(a), factor),
                  odd = even_products(WideLanes(a) >> 32, factor);
  high = of_even_and_odd(even >> 32, odd);
  low = of_even_and_odd(even, odd << 32);
}

// ---- four words ----

MM_LANES FourWords four_at(const std::uint32_t* words) {
  FourWords four;
  std::memcpy(&four, words, sizeof four);
  return four;
}

// Rounds to nearest, ties to even.
MM_LANES FourInts nearest_integers(FourFloats a) {
#if defined(__SSE2__)
  return reinterpret_cast<FourInts>(_mm_cvtps_epi32(a));
#else
  FourInts result;
  for (int q = 0; q < 4; ++q) result[q] = nearest_integer(a[q]);
  return result;
#endif
}

// Stores those of four entries whose bit is set, one after the other; returns how many. May write
// anything into the rest of to[0..3]. kOrder lists the lanes of each of the 16 masks.
MM_LANES int store_some(FourWords entry, unsigned bits, std::uint32_t* to) {
#if defined(__AVX__)
  alignas(16) static constexpr std::int32_t kOrder[16][4] = {
      {0, 0, 0, 0}, {0, 0, 0, 0}, {1, 0, 0, 0}, {0, 1, 0, 0}, {2, 0, 0, 0}, {0, 2, 0, 0},
      {1, 2, 0, 0}, {0, 1, 2, 0}, {3, 0, 0, 0}, {0, 3, 0, 0}, {1, 3, 0, 0}, {0, 1, 3, 0},
      {2, 3, 0, 0}, {0, 2, 3, 0}, {1, 2, 3, 0}, {0, 1, 2, 3}};
  const __m128i order = _mm_load_si128(reinterpret_cast<const __m128i*>(kOrder[bits]));
  const __m128 some = _mm_permutevar_ps(reinterpret_cast<__m128>(entry), order);
  std::memcpy(to, &some, sizeof some);
  return __builtin_popcount(bits);
#else
  int n = 0;
  for (int q = 0; q < 4; ++q) {
    to[n] = entry[q];
    n += static_cast<int>(bits >> q & 1u);
  }
  return n;
#endif
}

// Bit q is set where entry q of a mask is true.
MM_LANES unsigned bits_of_four(FourInts mask) {
#if defined(__SSE2__)
  return static_cast<unsigned>(_mm_movemask_ps(reinterpret_cast<__m128>(mask)));
#else
  unsigned bits = 0;
  for (int q = 0; q < 4; ++q) bits |= (mask[q] ? 1u : 0u) << q;
  return bits;
#endif
}

// Transposes the 4 x 4 matrix with the rows a, b, c, d in place.
MM_LANES void transpose(FourInts& a, FourInts& b, FourInts& c, FourInts& d) {
#if defined(__SSE2__)
  const auto as = [](FourInts v) { return reinterpret_cast<__m128i>(v); };
  // (a0 b0 a1 b1) and (c0 d0 c1 d1), then the halves of both: (a0 b0 c0 d0), (a1 b1 c1 d1).
  const __m128i ab = _mm_unpacklo_epi32(as(a), as(b)), cd = _mm_unpacklo_epi32(as(c), as(d)),
                ab_high = _mm_unpackhi_epi32(as(a), as(b)),
                cd_high = _mm_unpackhi_epi32(as(c), as(d));
  a = reinterpret_cast<FourInts>(_mm_unpacklo_epi64(ab, cd));
  b = reinterpret_cast<FourInts>(_mm_unpackhi_epi64(ab, cd));
  c = reinterpret_cast<FourInts>(_mm_unpacklo_epi64(ab_high, cd_high));
  d = reinterpret_cast<FourInts>(_mm_unpackhi_epi64(ab_high, cd_high));
#else
  const FourInts x = {a[0], b[0], c[0], d[0]}, y = {a[1], b[1], c[1], d[1]},
                 z = {a[2], b[2], c[2], d[2]}, w = {a[3], b[3], c[3], d[3]};
  a = x;
  b = y;
  c = z;
  d = w;
#endif
}

#if defined(__AVX2__)
// ---- eight words: four of one row in the lower half, four of another one in the upper half ----

typedef std::int32_t EightInts __attribute__((vector_size(32)));
typedef std::uint32_t EightWords __attribute__((vector_size(32)));
typedef float EightFloats __attribute__((vector_size(32)));

// lower[0..3] and upper[0..3], at any address.
MM_LANES EightWords two_rows(const std::uint32_t* lower, const std::uint32_t* upper) {
  const auto at = [](const std::uint32_t* words) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(words));
  };
  return reinterpret_cast<EightWords>(
      _mm256_inserti128_si256(_mm256_castsi128_si256(at(lower)), at(upper), 1));
}
MM_LANES EightWords twice(FourWords row) {
  return reinterpret_cast<EightWords>(_mm256_broadcastsi128_si256(reinterpret_cast<__m128i>(row)));
}

// The first three columns of both halves' four rows come to a, b, c.
MM_LANES void transpose_halves(EightInts& a, EightInts& b, EightInts& c, EightInts d) {
  const auto as = [](EightInts v) { return reinterpret_cast<__m256i>(v); };
  const __m256i ab = _mm256_unpacklo_epi32(as(a), as(b)), cd = _mm256_unpacklo_epi32(as(c), as(d)),
                ab_high = _mm256_unpackhi_epi32(as(a), as(b)),
                cd_high = _mm256_unpackhi_epi32(as(c), as(d));
  a = reinterpret_cast<EightInts>(_mm256_unpacklo_epi64(ab, cd));
  b = reinterpret_cast<EightInts>(_mm256_unpackhi_epi64(ab, cd));
  c = reinterpret_cast<EightInts>(_mm256_unpacklo_epi64(ab_high, cd_high));
}
MM_LANES unsigned bits_of_eight(EightInts mask) {
  return static_cast<unsigned>(_mm256_movemask_ps(reinterpret_cast<__m256>(mask)));
}
#endif

}  // namespace MANYMOVE_SIMD
}  // namespace manymove
