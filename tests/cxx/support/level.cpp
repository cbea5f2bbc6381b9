// SPDX-License-Identifier: BSD-3-Clause
#include "level.h"

#include <cstdlib>
#include <stdexcept>

#include "core/runtime/simd.h"

namespace manymove::test {

void need_level(const char* level) {
  setenv("MANYMOVE_SIMD", level, 1);
  try {
    simd_level();
  } catch (const std::runtime_error& reason) {
    throw Skipped(reason.what());
  }
}

}  // namespace manymove::test
