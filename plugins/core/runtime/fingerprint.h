// SPDX-License-Identifier: BSD-3-Clause
// Hashes of 64 bits by which a state is known again. A state's hash is a sum over its particles of
// functions of their tags, so that it depends neither on their order nor on who adds them.
#pragma once

#include "macros.h"

namespace manymove {

// The last steps of two well-known hashes. Both stay, because published state hashes are theirs:
// those of hard particles are made with the first, those of ions with the second.

// MurmurHash3 (A. Appleby).
MM_HD std::uint64_t murmur_mix(std::uint64_t h) {
  h = (h ^ (h >> 33)) * 0xff51afd7ed558ccdull;
  h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53ull;
  return h ^ (h >> 33);
}

// SplitMix64 (G. L. Steele Jr., D. Lea, C. H. Flood, OOPSLA'14).
MM_HD std::uint64_t split_mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace manymove
