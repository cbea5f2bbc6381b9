// SPDX-License-Identifier: BSD-3-Clause
// Sums over the pairs of a particle in registers of four numbers, for step_kernels.h alone.
#pragma once

#include "motion_kernels.h"

namespace manymove::dpd::MANYMOVE_SIMD {
namespace {

// Forces; and if `reading`, the virials xx, yy and zz with the energy, then xy, xz and yz.
template <bool reading>
struct RowSums {
  FourFloats force, diagonal, others;

  // row: (x, y, z, f / r) of a pair. The operations are those of add_scaled() and add_energy() for
  // several components at a time; 1 times the energy is added to its sum.
  void add(FourInts row, float energy) {
    FourFloats r = reinterpret_cast<FourFloats>(row);
    const FourFloats over = {r[3], r[3], r[3], r[3]};
    force = fused(r, over, force);
    if constexpr (!reading) return;
    FourFloats f = r * over;
    r[3] = 1;
    f[3] = energy;
    diagonal = fused(r, f, diagonal);
    others = fused(FourFloats{r[0], r[0], r[1], 0}, FourFloats{f[1], f[2], f[2], 0}, others);
  }
  void add(const RowSums& b) {
    force += b.force;
    if constexpr (!reading) return;
    diagonal += b.diagonal;
    others += b.others;
  }
  void leave(Sum<float>& sum) const {
    sum.force = {force[0], force[1], force[2]};
    if constexpr (!reading) return;
    sum.energy = diagonal[3];
    for (int a = 0; a < 3; ++a) {
      sum.virial[a] = diagonal[a];
      sum.virial[3 + a] = others[a];
    }
  }
};

}  // namespace
}  // namespace manymove::dpd::MANYMOVE_SIMD
