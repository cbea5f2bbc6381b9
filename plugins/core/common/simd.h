// SPDX-License-Identifier: BSD-3-Clause
// SIMD levels: the sources that are compiled once per level, and which of them this machine runs.
#pragma once

#include <string>
#include <vector>

namespace manymove {

enum class SimdLevel { baseline, avx2, avx512 };

// Compiled levels, lowest first.
std::vector<std::string> simd_levels();
// The best compiled level that this machine runs, or the one that MANYMOVE_SIMD names in the
// environment. Throws std::runtime_error if that one does not exist or does not run here.
SimdLevel simd_level();
std::string simd_level_name(SimdLevel level);

}  // namespace manymove
