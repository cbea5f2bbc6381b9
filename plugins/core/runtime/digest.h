// SPDX-License-Identifier: BSD-3-Clause
// A hash of 64 bits of a host program's arrays, which tells whether the host program has changed
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "fingerprint.h"

namespace manymove {

// Depends on the bytes, on their order and on how add() divides them.
class Digest {
 public:
  void add(const void* data, std::size_t bytes) {
    const std::string_view text(static_cast<const char*>(data), bytes);
    value_ = split_mix(value_ + std::hash<std::string_view>()(text));
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0;
};

}  // namespace manymove
