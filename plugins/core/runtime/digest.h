// SPDX-License-Identifier: BSD-3-Clause
// A hash of 64 bits of a host program's arrays, which tells whether somebody has written to them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace manymove {

// Depends on the bytes, on their order and on how add() divides them.
class Digest {
 public:
  void add(const void* data, std::size_t bytes) {
    const auto* at = static_cast<const char*>(data);
    for (; bytes >= sizeof state_; at += sizeof state_, bytes -= sizeof state_) {
      std::uint64_t words[kChains];
      std::memcpy(words, at, sizeof words);
      for (int k = 0; k < kChains; ++k) mix(state_[k], words[k]);
    }
    mix(state_[0], bytes);
    for (; bytes > 0; ++at, --bytes) mix(state_[0], static_cast<unsigned char>(*at));
  }
  std::uint64_t value() const {
    std::uint64_t value = 0;
    for (const std::uint64_t state : state_) mix(value, state);
    return value;
  }

 private:
  static constexpr int kChains = 4;  // independent ones, for instruction-level parallelism
  static void mix(std::uint64_t& state, std::uint64_t word) {
    state = (state ^ word) * 0x9e3779b97f4a7c15u;
    state ^= state >> 29;
  }
  std::uint64_t state_[kChains] = {};
};

}  // namespace manymove
