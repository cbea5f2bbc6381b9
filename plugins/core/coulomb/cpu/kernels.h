// SPDX-License-Identifier: BSD-3-Clause
// What kernels.cpp defines once per SIMD level.
#pragma once

#include "../../runtime/simd.h"
#include "../model.h"

namespace manymove::coulomb {

// Ions in the order of a sweep, coordinates apart.
struct Partners {
  const float *x, *y, *z, *charge;
};

struct Kernels {
  // Change of a trial's potential by the partners from begin to end, without the trial's own index,
  // and the least squared distance of the new place from them, not below rounding.
  std::int64_t (*change_of)(const Rules& r, bool double_precision, const Partners& g,
                            std::size_t begin, std::size_t end, std::size_t self, const Site& from,
                            const Site& to, float& nearest2);
  // Potential at `at` from the partners, in float64.
  std::int64_t (*potential)(const Rules& r, const Partners& g, std::size_t begin, std::size_t end,
                            const Site& at);
  // Adds the pairs of ion i with those from begin to end.
  void (*count_pairs)(const Rules& r, const Bins& b, const Partners& g, const std::int32_t* species,
                      std::size_t i, std::size_t begin, std::size_t end, std::uint64_t* counts);
};
MANYMOVE_KERNELS(Kernels)

}  // namespace manymove::coulomb
