// SPDX-License-Identifier: BSD-3-Clause
// Before philox.h, which finds the product of vectors there.
#include "core/runtime/vec.h"

#include <cstdint>

#include "core/runtime/philox.h"
#include "support/known_answers.h"
#include "support/level.h"

using namespace manymove;
using test::kPhilox2x32;
using test::kPhilox4x32;

TEST_LEVEL("Philox 4x32-10 gives the published answers in every lane") {
  for (const auto& known : kPhilox4x32) {
    // Each lane has the counter once, and other counters in the other lanes.
    for (int lane = 0; lane < kLanes; ++lane) {
      UintLanes word[4];
      std::uint32_t alone[4][kLanes];
      for (int other = 0; other < kLanes; ++other) {
        std::uint32_t counter[4];
        for (int k = 0; k < 4; ++k)
          word[k][other] = counter[k] = known.counter[k] + (other == lane ? 0 : 77u * other + k);
        philox(counter, PhiloxKey{known.key[0], known.key[1]});
        for (int k = 0; k < 4; ++k) alone[k][other] = counter[k];
      }
      philox(word, PhiloxKey{known.key[0], known.key[1]});
      for (int k = 0; k < 4; ++k) {
        CHECK_EQUAL(std::uint32_t{word[k][lane]}, known.result[k]);
        for (int other = 0; other < kLanes; ++other)
          CHECK_EQUAL(std::uint32_t{word[k][other]}, alone[k][other]);
      }
    }
  }
}

TEST_LEVEL("Philox 2x32-10 gives the published answers in every lane") {
  for (const auto& known : kPhilox2x32) {
    std::uint32_t keys[10];
    test::round_keys(known.key, keys);
    for (int lane = 0; lane < kLanes; ++lane) {
      UintLanes word[2];
      std::uint32_t alone[2][kLanes];
      for (int other = 0; other < kLanes; ++other) {
        std::uint32_t counter[2];
        for (int k = 0; k < 2; ++k)
          word[k][other] = counter[k] = known.counter[k] + (other == lane ? 0 : 77u * other + k);
        philox_pair(counter, keys);
        for (int k = 0; k < 2; ++k) alone[k][other] = counter[k];
      }
      philox_pair(word, keys);
      for (int k = 0; k < 2; ++k) {
        CHECK_EQUAL(std::uint32_t{word[k][lane]}, known.result[k]);
        for (int other = 0; other < kLanes; ++other)
          CHECK_EQUAL(std::uint32_t{word[k][other]}, alone[k][other]);
      }
    }
  }
}

TEST_LEVEL("the wide product of each lane is the 64-bit product") {
  const std::uint32_t values[] = {0, 1, 2, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff};
  for (const std::uint32_t b : values)
    for (const std::uint32_t first : values) {
      UintLanes a, high, low;
      for (int lane = 0; lane < kLanes; ++lane) a[lane] = first + 0x9E3779B9u * lane;
      multiply_wide(a, b, high, low);
      for (int lane = 0; lane < kLanes; ++lane) {
        const std::uint64_t product = std::uint64_t{a[lane]} * b;
        CHECK_EQUAL(std::uint32_t{high[lane]}, static_cast<std::uint32_t>(product >> 32));
        CHECK_EQUAL(std::uint32_t{low[lane]}, static_cast<std::uint32_t>(product));
      }
    }
}
