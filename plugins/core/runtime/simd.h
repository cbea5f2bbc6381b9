// SPDX-License-Identifier: BSD-3-Clause
// SIMD levels: the sources that are compiled once per level, and which of them this machine runs.
#pragma once

#include <string>
#include <vector>

#include "api.h"

namespace manymove {

enum class SimdLevel { baseline, avx2, avx512 };

// Compiled levels, lowest first. Builds for the machine that compiles them have a single one.
MANYMOVE_API std::vector<std::string> simd_levels();
// The best compiled level that this machine runs, or the one that MANYMOVE_SIMD names in the
// environment. Throws std::runtime_error if that one does not exist or does not run here, or if
// this machine runs no compiled level.
MANYMOVE_API SimdLevel simd_level();
MANYMOVE_API std::string simd_level_name(SimdLevel level);
// The best level that this machine runs, whether it is compiled or not.
MANYMOVE_API SimdLevel machine_simd_level();
// Throws std::runtime_error, with the command that compiles the core again, if this machine runs
// no compiled level.
MANYMOVE_API void require_simd_level();

// The best of the levels in `compiled` (lowest first) up to the one of the machine; an empty
// `wanted` names none. Throws as simd_level() does, which this is for the compiled levels here.
SimdLevel choose_simd_level(const std::vector<std::string>& compiled, SimdLevel machine,
                            const std::string& wanted);

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
#if defined(MANYMOVE_HAVE_BASELINE)
#define MANYMOVE_USE_BASELINE &baseline::use
#else
#define MANYMOVE_USE_BASELINE nullptr
#endif
#if defined(MANYMOVE_HAVE_AVX2)
#define MANYMOVE_USE_AVX2 &avx2::use
#else
#define MANYMOVE_USE_AVX2 nullptr
#endif
#if defined(MANYMOVE_HAVE_AVX512)
#define MANYMOVE_USE_AVX512 &avx512::use
#else
#define MANYMOVE_USE_AVX512 nullptr
#endif
#define MANYMOVE_LEVELS MANYMOVE_USE_BASELINE, MANYMOVE_USE_AVX2, MANYMOVE_USE_AVX512
template <class Kernels>
Kernels best_level(void (*baseline)(Kernels&), void (*avx2)(Kernels&), void (*avx512)(Kernels&)) {
  const SimdLevel level = simd_level();
  Kernels kernels;
  (level == SimdLevel::avx512 ? avx512 : level == SimdLevel::avx2 ? avx2 : baseline)(kernels);
  return kernels;
}

}  // namespace manymove
