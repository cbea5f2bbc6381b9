// SPDX-License-Identifier: BSD-3-Clause
#include "core/runtime/philox.h"

#include <algorithm>
#include <cstdint>

#include "core/dpd/model.h"
#include "core/hard_particles/model.h"
#include "support/known_answers.h"
#include "support/test.h"

using namespace manymove;

TEST("Philox 4x32-10 gives the published answers") {
  for (const auto& known : test::kPhilox4x32) {
    std::uint32_t word[4];
    std::copy_n(known.counter, 4, word);
    philox(word, PhiloxKey{known.key[0], known.key[1]});
    for (int k = 0; k < 4; ++k) CHECK_EQUAL(word[k], known.result[k]);
  }
}

TEST("Philox 2x32-10 gives the published answers") {
  for (const auto& known : test::kPhilox2x32) {
    std::uint32_t word[2], keys[10];
    std::copy_n(known.counter, 2, word);
    test::round_keys(known.key, keys);
    philox_pair(word, keys);
    for (int k = 0; k < 2; ++k) CHECK_EQUAL(word[k], known.result[k]);
  }
}

TEST("the noise of DPD is Philox 2x32-10, keyed by seed and step") {
  const dpd::NoiseKey noise = dpd::noise_key(0x0123456789abcdefu, 0xfedcba9876543210u);
  std::uint32_t keys[10];
  test::round_keys(noise.round[0], keys);
  for (int round = 0; round < 10; ++round) CHECK_EQUAL(noise.round[round], keys[round]);
  CHECK(noise.round[0] != dpd::noise_key(0x0123456789abcdefu, 0xfedcba9876543211u).round[0]);
  CHECK(noise.round[0] != dpd::noise_key(0x0123456789abcdefu, 0x7edcba9876543210u).round[0]);
  CHECK(noise.round[0] != dpd::noise_key(0x8123456789abcdefu, 0xfedcba9876543210u).round[0]);
}

TEST("the noise of a pair is that of the pair the other way round, at the largest tags too") {
  const dpd::NoiseKey key = dpd::noise_key(1, 2);
  const std::uint32_t tags[] = {0, 1, 2, 0x7fffffff, 0x80000000, 0xffffffff};
  for (const std::uint32_t i : tags)
    for (const std::uint32_t j : tags) {
      std::uint32_t a[2], b[2];
      dpd::pair_words(a, key, i, j);
      dpd::pair_words(b, key, j, i);
      CHECK_EQUAL(a[0], b[0]);
      CHECK_EQUAL(a[1], b[1]);
    }
}

TEST("an integer below n stays below n, and both ends are reached") {
  for (const std::uint32_t n : {1u, 2u, 3u, 1000u, 0x7fffffffu, 0x80000000u, 0xffffffffu}) {
    CHECK_EQUAL(uniform_below(0, n), 0u);
    CHECK_EQUAL(uniform_below(0xffffffffu, n), n - 1);
  }
  // The words that give a value are 2^32 / 3 each, to one.
  CHECK_EQUAL(uniform_below(0x55555555u, 3), 0u);
  CHECK_EQUAL(uniform_below(0x55555556u, 3), 1u);
  CHECK_EQUAL(uniform_below(0xaaaaaaaau, 3), 1u);
  CHECK_EQUAL(uniform_below(0xaaaaaaabu, 3), 2u);
}

TEST("hard disks' permutations are permutations, and each of them comes up") {
  const std::uint32_t values[] = {0, 0x40000000u, 0x80000000u, 0xc0000000u};
  const int factorial[] = {1, 1, 2, 6, 24};
  for (int n = 1; n <= 4; ++n) {
    bool seen[256] = {};
    int different = 0;
    for (const std::uint32_t a : values)
      for (const std::uint32_t b : {0u, 0x60000000u, 0xc0000000u})
        for (const std::uint32_t c : values) {
          const std::uint32_t word[3] = {a, b, c};
          const unsigned order = hard_particles::permutation<2>(n, word);
          unsigned members = 0;
          for (int k = 0; k < n; ++k) members |= 1u << (order >> (2 * k) & 3u);
          CHECK_EQUAL(members, (1u << n) - 1);
          const unsigned low = order & ((1u << (2 * n)) - 1);
          different += !seen[low];
          seen[low] = true;
        }
    CHECK_EQUAL(different, factorial[n]);
  }
}
