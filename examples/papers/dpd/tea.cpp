// SPDX-License-Identifier: BSD-3-Clause
// The generator of tea.h for figure_9.py, which compiles this file with the C++ compiler.
#include "tea.h"

using namespace manymove;
using namespace manymove::dpd;

// Signatures [count] from tags and velocities [count][3].
extern "C" void tea_signatures(std::uint64_t seed, std::uint64_t step, std::int64_t count,
                               const std::uint32_t* tag, const double* velocity,
                               std::uint32_t* signature) {
  const NoiseKey key = noise_key(seed, step);
  const std::uint32_t words[4] = {key.mask[1], key.mask[0], ~key.round[0], key.round[0]};
  for (std::int64_t n = 0; n < count; ++n) {
    const double* v = velocity + 3 * n;
    signature[n] = tea_signature(tag[n], v[0], v[1], v[2], words);
  }
}

// Normal variables for pairs of signatures.
extern "C" void tea_noise(std::uint64_t seed, std::uint64_t step, std::int64_t count,
                          const std::uint32_t* signature_i, const std::uint32_t* signature_j,
                          float* noise) {
  const NoiseKey key = noise_key(seed, step);
  const std::uint32_t words[4] = {key.round[0], key.mask[0], key.mask[1], ~key.round[0]};
  for (std::int64_t n = 0; n < count; ++n) {
    std::uint32_t v0, v1;
    tea_pair<4>(signature_i[n], signature_j[n], words, v0, v1);
    noise[n] = gaussian(v0, v1);
  }
}
