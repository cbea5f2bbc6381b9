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

TEST("each compiled SIMD level that this machine runs can be chosen, and there is one") {
  require_simd_level();
  const auto levels = simd_levels();
  CHECK(!levels.empty());
  setenv("MANYMOVE_SIMD", levels[0].c_str(), 1);
  CHECK(simd_level_name(simd_level()) == levels[0]);
}

TEST("the best compiled SIMD level is taken that the machine runs") {
  const std::vector<std::string> all{"baseline", "avx2", "avx512"};
  for (const SimdLevel machine : {SimdLevel::baseline, SimdLevel::avx2, SimdLevel::avx512})
    CHECK(choose_simd_level(all, machine, "") == machine);
  CHECK(choose_simd_level({"avx2"}, SimdLevel::avx512, "") == SimdLevel::avx2);
  CHECK(choose_simd_level({"baseline"}, SimdLevel::avx2, "") == SimdLevel::baseline);
  CHECK(choose_simd_level(all, SimdLevel::avx512, "avx2") == SimdLevel::avx2);
  CHECK_THROWS(choose_simd_level(all, SimdLevel::avx2, "avx512"), std::runtime_error,
               "MANYMOVE_SIMD=avx512 does not run on this machine");
  CHECK_THROWS(choose_simd_level({"avx2"}, SimdLevel::avx2, "baseline"), std::runtime_error,
               "MANYMOVE_SIMD=baseline is not among the compiled");
}

TEST("a build for a better CPU is refused with the command that compiles it again") {
  for (const char* message :
       {"compiled for CPUs with the SIMD level avx2, but this CPU has baseline",
        "pip install --force-reinstall --no-deps .", "-Ccmake.define.MANYMOVE_SIMD_LEVELS=all"})
    CHECK_THROWS(choose_simd_level({"avx2", "avx512"}, SimdLevel::baseline, ""), std::runtime_error,
                 message);
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
