// SPDX-License-Identifier: BSD-3-Clause
// For sources that are compiled once per SIMD level: TEST_LEVEL's sentence ends with the level, and
// the test is skipped on a machine that does not run it.
#pragma once

#include "test.h"

namespace manymove::test {

// Throws Skipped where this machine does not run the level.
void need_level(const char* level);

}  // namespace manymove::test

#define TEST_LEVEL(sentence)                          \
  static void MM_TEST_JOIN(level_test_, __LINE__)();  \
  TEST(sentence ", with " MANYMOVE_SIMD_NAME) {       \
    ::manymove::test::need_level(MANYMOVE_SIMD_NAME); \
    MM_TEST_JOIN(level_test_, __LINE__)();            \
  }                                                   \
  static void MM_TEST_JOIN(level_test_, __LINE__)()
