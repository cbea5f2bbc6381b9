// SPDX-License-Identifier: BSD-3-Clause
// Philox 4x32-10 and 2x32-10, counter-based generators: J. K. Salmon, M. A. Moraes, R. O. Dror, D.
// E. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC'11. A number is a function of what is
// being decided (the counter) and of the seed (the key), never of the thread that asks for it.
#pragma once

#include "macros.h"

namespace manymove {

struct PhiloxKey {
  std::uint32_t k0, k1;
};

MM_HD void multiply_wide(std::uint32_t a, std::uint32_t b, std::uint32_t& high,
                         std::uint32_t& low) {
  const std::uint64_t product = static_cast<std::uint64_t>(a) * b;
  high = static_cast<std::uint32_t>(product >> 32);
  low = static_cast<std::uint32_t>(product);
}

// word: the counter on entry, four random words on return. U is uint32_t or a vector of them.
template <class U>
MM_HD void philox(U word[4], PhiloxKey key) {
  for (int round = 0; round < 10; ++round) {
    U high0, low0, high1, low1;
    // The round of the paper: two 32 x 32 bit products, whose halves are exchanged and mixed with
    // the key.
    multiply_wide(word[0], 0xD2511F53u, high0, low0);
    multiply_wide(word[2], 0xCD9E8D57u, high1, low1);
    const U next0 = high1 ^ word[1] ^ key.k0;
    const U next2 = high0 ^ word[3] ^ key.k1;
    word[0] = next0;
    word[1] = low1;
    word[2] = next2;
    word[3] = low0;
    // Weyl sequences: the golden ratio and sqrt(3) - 1, times 2^32.
    key.k0 += 0x9E3779B9u;
    key.k1 += 0xBB67AE85u;
  }
}

// The same with two words; key: of each round.
template <class U>
MM_HD void philox_pair(U word[2], const std::uint32_t (&key)[10]) {
  MM_UNROLL
  for (int round = 0; round < 10; ++round) {
    U high, low;
    multiply_wide(word[0], 0xD256D193u, high, low);
    word[0] = high ^ key[round] ^ word[1];
    word[1] = low;
  }
}

// An integer in [0, n) from a random word; the probabilities are equal to 2^-32.
MM_HD std::uint32_t uniform_below(std::uint32_t word, std::uint32_t n) {
  std::uint32_t high, low;
  multiply_wide(word, n, high, low);
  return high;
}

}  // namespace manymove
