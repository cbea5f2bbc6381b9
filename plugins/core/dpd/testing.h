// SPDX-License-Identifier: BSD-3-Clause
// model.h's random numbers and weights for arrays, at the SIMD level that the forces run at: what
// tests and comparisons look at.
#pragma once

#include <cstdint>

#include "../runtime/api.h"

namespace manymove::dpd {

// xi of Eq. 5 for pairs of tags.
MANYMOVE_API void draw_noise(std::uint64_t seed, std::uint64_t step, int count,
                             const std::uint32_t* tag_i, const std::uint32_t* tag_j, float* noise);
// The paper's: signatures [count] from tags and velocities [count][3], then xi from signatures.
MANYMOVE_API void make_signatures(std::uint64_t seed, std::uint64_t step, int count,
                                  const std::uint32_t* tag, const double* velocity,
                                  std::uint32_t* signature);
MANYMOVE_API void draw_tea_noise(std::uint64_t seed, std::uint64_t step, int count,
                                 const std::uint32_t* signature_i, const std::uint32_t* signature_j,
                                 float* noise);
// base^exponent
MANYMOVE_API void raise(int count, const float* base, float exponent, float* result);
MANYMOVE_API void raise(int count, const double* base, double exponent, double* result);

}  // namespace manymove::dpd
