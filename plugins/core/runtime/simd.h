// SPDX-License-Identifier: BSD-3-Clause
// SIMD levels: the sources that are compiled once per level, and which of them this machine runs.
#pragma once

#include <string>
#include <vector>

#include "api.h"

namespace manymove {

enum class SimdLevel { baseline, avx2, avx512 };

// Compiled levels, lowest first.
MANYMOVE_API std::vector<std::string> simd_levels();
// The best compiled level that this machine runs, or the one that MANYMOVE_SIMD names in the
// environment. Throws std::runtime_error if that one does not exist or does not run here.
MANYMOVE_API SimdLevel simd_level();
MANYMOVE_API std::string simd_level_name(SimdLevel level);

// A source that is compiled once per level defines use(Kernels&) in the level's namespace, which
// sets the function pointers of an algorithm's struct Kernels; this declares it.
#define MANYMOVE_KERNELS(Kernels) \
  namespace baseline {            \
  void use(Kernels& kernels);     \
  }                               \
  namespace avx2 {                \
  void use(Kernels& kernels);     \
  }                               \
  namespace avx512 {              \
  void use(Kernels& kernels);     \
  }

// best_level<Kernels>(MANYMOVE_LEVELS): the kernels of simd_level(), which is a compiled level.
#if defined(MANYMOVE_HAVE_AVX512)
#define MANYMOVE_LEVELS &baseline::use, &avx2::use, &avx512::use
#elif defined(MANYMOVE_HAVE_AVX2)
#define MANYMOVE_LEVELS &baseline::use, &avx2::use, nullptr
#else
#define MANYMOVE_LEVELS &baseline::use, nullptr, nullptr
#endif
template <class Kernels>
Kernels best_level(void (*baseline)(Kernels&), void (*avx2)(Kernels&), void (*avx512)(Kernels&)) {
  const SimdLevel level = simd_level();
  Kernels kernels;
  (level == SimdLevel::avx512 ? avx512 : level == SimdLevel::avx2 ? avx2 : baseline)(kernels);
  return kernels;
}

}  // namespace manymove
