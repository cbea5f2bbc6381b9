// SPDX-License-Identifier: BSD-3-Clause
// What cpu.cpp defines once per SIMD level.
#pragma once

#include "model.h"

namespace manymove::coulomb {

inline constexpr int kGroup = 64;  // trials side by side

// Ions in the order of a sweep, coordinates apart.
struct Guests {
  const float *x, *y, *z, *charge;
};

// The trials of a group, with what their potentials have changed by so far.
struct Rows {
  alignas(64) float x[kGroup], y[kGroup], z[kGroup];
  alignas(64) float trial_x[kGroup], trial_y[kGroup], trial_z[kGroup];
  alignas(64) std::int64_t change[kGroup];
  alignas(64) float nearest2[kGroup];  // least squared distance from the trial, not below rounding
};

#define MANYMOVE_COULOMB_KERNELS                                                                 \
  /* Adds the guests from begin to end to the trials from..to. */                                \
  void add_guests(const Rules& r, bool double_precision, const Guests& g, std::size_t begin,     \
                  std::size_t end, int from, int to, Rows& rows);                                \
  /* The same for one trial, the guests side by side; the trial's own index is left out. */      \
  std::int64_t change_of(const Rules& r, bool double_precision, const Guests& g,                 \
                         std::size_t begin, std::size_t end, std::size_t self, const Site& from, \
                         const Site& to, float& nearest2);                                       \
  /* Potential at `at` from the guests, in float64. */                                           \
  std::int64_t potential(const Rules& r, const Guests& g, std::size_t begin, std::size_t end,    \
                         const Site& at);                                                        \
  /* Adds the pairs of ion i with those from begin to end. */                                    \
  void count_pairs(const Rules& r, const Bins& b, const Guests& g, const std::int32_t* species,  \
                   std::size_t i, std::size_t begin, std::size_t end, std::uint64_t* counts);

namespace baseline {
MANYMOVE_COULOMB_KERNELS
}
namespace avx2 {
MANYMOVE_COULOMB_KERNELS
}
namespace avx512 {
MANYMOVE_COULOMB_KERNELS
}

}  // namespace manymove::coulomb
