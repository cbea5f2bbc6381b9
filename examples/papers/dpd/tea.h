// SPDX-License-Identifier: BSD-3-Clause
// The paper's random numbers (section 3.5, Algorithm 4): a signature for each particle from its tag
// and velocity by 16 rounds of the Tiny Encryption Algorithm, then 4 rounds for each pair. The
// engines use Philox instead, which needs no signatures (docs/theory/dpd.md).
#pragma once

#include <cstdint>

#include "dpd/model.h"

namespace manymove::dpd {

template <int rounds>
MM_HD void tea(std::uint32_t& v0, std::uint32_t& v1, const std::uint32_t key[4]) {
  std::uint32_t sum = 0;
  MM_UNROLL
  for (int round = 0; round < rounds; ++round) {
    sum += 0x9E3779B9u;
    v0 += ((v1 << 4) + key[0]) ^ (v1 + sum) ^ ((v1 >> 5) + key[1]);
    v1 += ((v0 << 4) + key[2]) ^ (v0 + sum) ^ ((v0 >> 5) + key[3]);
  }
}

// Bits 0, 3, 6, ... of the result from the low 11 bits of a.
MM_HD std::uint32_t every_third_bit(std::uint32_t a) {
  std::uint64_t spread = a & 0x7ffu;
  spread = (spread | spread << 16) & 0x070000ffull;
  spread = (spread | spread << 8) & 0x0700f00full;
  spread = (spread | spread << 4) & 0x430c30c3ull;
  spread = (spread | spread << 2) & 0x49249249ull;
  return static_cast<std::uint32_t>(spread);
}

MM_HD std::uint32_t reversed(std::uint32_t a) {
  a = (a >> 1 & 0x55555555u) | (a & 0x55555555u) << 1;
  a = (a >> 2 & 0x33333333u) | (a & 0x33333333u) << 2;
  a = (a >> 4 & 0x0f0f0f0fu) | (a & 0x0f0f0f0fu) << 4;
  a = (a >> 8 & 0x00ff00ffu) | (a & 0x00ff00ffu) << 8;
  return a >> 16 | a << 16;
}

// key: four words that seed and step make (the paper leaves them open).
MM_HD std::uint32_t tea_signature(std::uint32_t tag, double vx, double vy, double vz,
                                  const std::uint32_t key[4]) {
  const auto mantissa = [](double v) { return static_cast<std::uint32_t>(bits_of(v) >> 41); };
  std::uint32_t v0 = reversed(tag);
  std::uint32_t v1 = every_third_bit(mantissa(vx)) | every_third_bit(mantissa(vy)) << 1 |
                     every_third_bit(mantissa(vz)) << 2;
  tea<16>(v0, v1, key);
  return v0 ^ v1;
}

// Two random words of a pair, the same for both of its particles.
template <int rounds>
MM_HD void tea_pair(std::uint32_t signature_i, std::uint32_t signature_j,
                    const std::uint32_t key[4], std::uint32_t& v0, std::uint32_t& v1) {
  const bool ordered = signature_i < signature_j;
  v0 = ordered ? signature_i : signature_j;
  v1 = ordered ? signature_j : signature_i;
  tea<rounds>(v0, v1, key);
}

}  // namespace manymove::dpd
