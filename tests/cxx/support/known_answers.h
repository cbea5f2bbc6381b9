// SPDX-License-Identifier: BSD-3-Clause
// Known answers of Philox with ten rounds: tests/kat_vectors of Random123, which J. K. Salmon et
// al. published with SC'11.
#pragma once

#include <cstdint>

namespace manymove::test {

struct KnownAnswer {
  std::uint32_t counter[4], key[2], result[4];
};
inline constexpr KnownAnswer kPhilox4x32[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

struct KnownPair {
  std::uint32_t counter[2], key, result[2];
};
inline constexpr KnownPair kPhilox2x32[] = {
    {{0, 0}, 0, {0xff1dae59, 0x6cd10df2}},
    {{0xffffffff, 0xffffffff}, 0xffffffff, {0x2c3f628b, 0xab4fd7ad}},
    {{0x243f6a88, 0x85a308d3}, 0x13198a2e, {0xdd7ce038, 0xf62a4c12}},
};

// philox_pair takes the key of each round: Philox 2x32 adds the golden ratio's bits each time.
inline void round_keys(std::uint32_t key, std::uint32_t (&keys)[10]) {
  for (std::uint32_t& each : keys) {
    each = key;
    key += 0x9E3779B9u;
  }
}

}  // namespace manymove::test
