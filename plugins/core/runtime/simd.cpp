// SPDX-License-Identifier: BSD-3-Clause
#include "simd.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <stdexcept>

namespace manymove {
namespace {

constexpr const char* kNames[] = {"baseline", "avx2", "avx512"};  // by SimdLevel

SimdLevel by_name(const std::string& level) {
  // Only names of simd_levels() are asked for: each is found.
  const auto* const name = std::find(std::begin(kNames), std::end(kNames), level);
  return static_cast<SimdLevel>(name - kNames);
}

}  // namespace

std::vector<std::string> simd_levels() {
  return {
#if defined(MANYMOVE_HAVE_BASELINE)
      "baseline",
#endif
#if defined(MANYMOVE_HAVE_AVX2)
      "avx2",
#endif
#if defined(MANYMOVE_HAVE_AVX512)
      "avx512",
#endif
  };
}

SimdLevel machine_simd_level() {
#if defined(__x86_64__)
  // What CPUID reports, and whether the operating system saves these registers.
  // A level needs all the instruction sets that its sources are compiled for.
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("bmi2"))
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                   __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw")
               ? SimdLevel::avx512
               : SimdLevel::avx2;
#endif
  return SimdLevel::baseline;
}

SimdLevel choose_simd_level(const std::vector<std::string>& compiled, SimdLevel machine,
                            const std::string& wanted) {
  if (!wanted.empty()) {
    if (std::find(compiled.begin(), compiled.end(), wanted) == compiled.end())
      throw std::runtime_error("MANYMOVE_SIMD=" + wanted +
                               " is not among the compiled SIMD levels");
    if (by_name(wanted) > machine)
      throw std::runtime_error("MANYMOVE_SIMD=" + wanted + " does not run on this machine");
    return by_name(wanted);
  }
  // The highest level that is compiled and runs here.
  for (auto level = compiled.rbegin(); level != compiled.rend(); ++level)
    if (by_name(*level) <= machine) return by_name(*level);
  throw std::runtime_error(
      "manymove was compiled for CPUs with the SIMD level " + compiled.front() +
      ", but this CPU has " + simd_level_name(machine) +
      ". Compile manymove again on this machine, in the folder of its repository (pip install "
      "--force-reinstall --no-deps .), or for all CPUs (with "
      "-Ccmake.define.MANYMOVE_SIMD_LEVELS=all before the dot)");
}

SimdLevel simd_level() {
  const char* wanted = std::getenv("MANYMOVE_SIMD");
  return choose_simd_level(simd_levels(), machine_simd_level(), wanted ? wanted : "");
}

// Throws if no compiled level runs, regardless of MANYMOVE_SIMD.
void require_simd_level() { choose_simd_level(simd_levels(), machine_simd_level(), ""); }

std::string simd_level_name(SimdLevel level) { return kNames[static_cast<int>(level)]; }

}  // namespace manymove
