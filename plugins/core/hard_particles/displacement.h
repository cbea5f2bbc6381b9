// SPDX-License-Identifier: BSD-3-Clause
// Trial displacements of hard particles: even integers, symmetric about zero, the same bits
// everywhere (docs/theory/hard_disks.md, section 1.4).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "../runtime/macros.h"

namespace manymove::hard_particles {

// A move needs two displacements: bits 8..22 of a random word make one, bits 25..31 and 0..7 the
// other.
template <class U>
MM_HD U other_half(U word) {
  return word << 15 | word >> 17;
}

// The float 2^15 + 1/2, whose bits 8..22 take those of a random word.
inline constexpr std::uint32_t kDrawnBits = 0x47000080u;

// A displacement, an even integer, symmetric about zero, from bits 8..22 of a random word. They
// become the float 2^15 + r + 1/2; its distance from 2^15 + 2^14 times the step has at most 24
// bits, and what is added before it in an fma is representable too (the step is a multiple of
// 2^-13), so both are exact. Adding 1.5 * 2^24 rounds to an even integer, ties to even: the only
// rounding, the same with and without fma.
template <class U>
MM_HD auto displacement(U word, float step) {
  const float shift = 25165824.0f;
  const auto r = as_float((word & 0x007fff00u) | kDrawnBits);
  return add_rn(exact_multiply_add(r, -49152.0f, step, shift), -shift);
}

// The step, a maximum displacement (in units) over 16383.5. At most eight significant bits and no
// finer than 2^-13 keep displacement() exact; an odd multiple, so that moves do not keep the
// particles on a coarser lattice.
inline float displacement_step(double max_displacement) {
  const double wanted = max_displacement / 16383.5;
  int exponent;
  std::frexp(wanted, &exponent);
  const double quantum = std::ldexp(1.0, std::max(exponent - 8, -13));
  return static_cast<float>((2 * std::floor(wanted / quantum / 2) + 1) * quantum);
}

}  // namespace manymove::hard_particles
