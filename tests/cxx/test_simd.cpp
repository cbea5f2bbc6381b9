// SPDX-License-Identifier: BSD-3-Clause
#include "core/runtime/simd.h"

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <string>

#include "core/runtime/text.h"
#include "support/test.h"

using namespace manymove;

TEST("the compiled SIMD levels begin with the one that every machine runs") {
  const auto levels = simd_levels();
  CHECK(!levels.empty() && levels[0] == "baseline");
  setenv("MANYMOVE_SIMD", "baseline", 1);
  CHECK(simd_level() == SimdLevel::baseline);
}

TEST("MANYMOVE_SIMD names a level that runs, or the error says what is wrong with it") {
  for (const auto& level : simd_levels()) {
    setenv("MANYMOVE_SIMD", level.c_str(), 1);
    try {
      CHECK(simd_level_name(simd_level()) == level);
    } catch (const std::runtime_error& error) {
      CHECK(std::string(error.what()) ==
            "MANYMOVE_SIMD=" + level + " does not run on this machine");
    }
  }
}

TEST("an unknown SIMD level is an error that names it") {
  for (const char* level : {"avx", "AVX2", "baseline "}) {
    setenv("MANYMOVE_SIMD", level, 1);
    CHECK_THROWS(simd_level(), std::runtime_error,
                 (std::string("MANYMOVE_SIMD=") + level + " is not among the compiled").c_str());
  }
}

TEST("without MANYMOVE_SIMD, or with an empty one, the best level that runs is taken") {
  unsetenv("MANYMOVE_SIMD");
  const SimdLevel best = simd_level();
  setenv("MANYMOVE_SIMD", "", 1);
  CHECK(simd_level() == best);
  // None that runs is above it.
  for (const auto& level : simd_levels()) {
    setenv("MANYMOVE_SIMD", level.c_str(), 1);
    try {
      CHECK(simd_level() <= best);
    } catch (const std::runtime_error&) {
    }
  }
}

TEST("a message is made of words, characters and numbers") {
  CHECK(text_of("box edge ", 'x', " is ", 0.1, ", not ", -3, std::string("!")) ==
        "box edge x is 0.1, not -3!");
  CHECK(text_of() == "");
  CHECK(text_of(std::numeric_limits<std::int64_t>::min()) == "-9223372036854775808");
  CHECK(text_of(std::numeric_limits<std::uint64_t>::max()) == "18446744073709551615");
  CHECK(text_of(1e-300, ' ', -1.7976931348623157e308) == "1e-300 -1.797693135e+308");
  CHECK(text_of(std::numeric_limits<double>::infinity()) == "inf");
}
