// SPDX-License-Identifier: BSD-3-Clause
// How often a particle has crossed the periodic faces along each axis, in one integer as LAMMPS
// stores it (imageint): 10 bits per axis in 32, 21 in 64, each with an offset of half its range.
#pragma once

#include <array>

namespace manymove::dpd {

template <class Integer>
constexpr int kImageBits = sizeof(Integer) == 4 ? 10 : 21;

template <class Integer>
constexpr std::array<int, 3> unpack_image(Integer packed) {
  constexpr int bits = kImageBits<Integer>;
  constexpr Integer offset = Integer(1) << (bits - 1), mask = 2 * offset - 1;
  return {static_cast<int>((packed & mask) - offset),
          static_cast<int>((packed >> bits & mask) - offset),
          static_cast<int>((packed >> 2 * bits) - offset)};
}

// Numbers beyond the range wrap.
template <class Integer>
constexpr Integer pack_image(const std::array<int, 3>& image) {
  constexpr int bits = kImageBits<Integer>;
  constexpr Integer offset = Integer(1) << (bits - 1), mask = 2 * offset - 1;
  const auto wrapped = [&](int a) { return (static_cast<Integer>(image[a]) + offset) & mask; };
  return wrapped(0) | wrapped(1) << bits | wrapped(2) << 2 * bits;
}

}  // namespace manymove::dpd
