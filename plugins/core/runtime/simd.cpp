// SPDX-License-Identifier: BSD-3-Clause
#include "simd.h"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

namespace manymove {
namespace {

bool runs(const std::string& level) {
#if defined(__x86_64__)
  if (level == "avx512")
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  if (level == "avx2")
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi2");
#endif
  return level == "baseline";
}

SimdLevel by_name(const std::string& level) {
  return level == "avx512" ? SimdLevel::avx512
         : level == "avx2" ? SimdLevel::avx2
                           : SimdLevel::baseline;
}

}  // namespace

std::vector<std::string> simd_levels() {
  return {
      "baseline",
#if defined(MANYMOVE_HAVE_AVX2)
      "avx2",
#endif
#if defined(MANYMOVE_HAVE_AVX512)
      "avx512",
#endif
  };
}

SimdLevel simd_level() {
  const auto levels = simd_levels();
  if (const char* wanted = std::getenv("MANYMOVE_SIMD"); wanted && *wanted) {
    if (std::find(levels.begin(), levels.end(), wanted) == levels.end())
      throw std::runtime_error(std::string("MANYMOVE_SIMD=") + wanted +
                               " is not among the compiled SIMD levels");
    if (!runs(wanted))
      throw std::runtime_error(std::string("MANYMOVE_SIMD=") + wanted +
                               " does not run on this machine");
    return by_name(wanted);
  }
  for (auto level = levels.rbegin(); level != levels.rend(); ++level)
    if (runs(*level)) return by_name(*level);
  return SimdLevel::baseline;
}

std::string simd_level_name(SimdLevel level) {
  return level == SimdLevel::avx512 ? "avx512" : level == SimdLevel::avx2 ? "avx2" : "baseline";
}

}  // namespace manymove
