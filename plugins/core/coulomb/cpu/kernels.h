// SPDX-License-Identifier: BSD-3-Clause
// What kernels.cpp defines once per SIMD level.
#pragma once

#include "../../runtime/simd.h"
#include "../far_field.h"

namespace manymove::coulomb {

// Ions in the order of a sweep, coordinates apart.
struct Partners {
  const float *x, *y, *z, *charge;
};

// The far field in memory. The spectrum has a row of `stride` numbers for each point along x and
// each wave number along y; those beyond half the length follow by symmetry.
struct MeshView {
  const MeshRules* rules;
  std::int64_t* charge;  // [points[0]][points[1]][points[2]]
  double* potential;     // the same
  double *re, *im;       // [points[0]][length[1]][stride]
  const double* factor;  // [][half_y][stride]
  FftPlan plan[3];
  const Complex<double>* twiddle[3];
  int stride, half_y, longest;
};
struct Places {
  std::size_t begin, end;
};
struct Move {
  Site from, to;
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

  // Transforms of the mesh; `memory` holds 4 numbers per SIMD lane and point of the longest line.
  double (*forward_z)(const MeshView& m, int x, double* memory);
  void (*along_y)(const MeshView& m, int x, bool inverse, double* memory);
  void (*along_x)(const MeshView& m, int ky, double* memory);
  void (*inverse_z)(const MeshView& m, int x, double* memory);
  // Puts an ion's charge on the mesh (sign 1) or takes it off (-1).
  void (*add_charge)(const MeshView& m, const Site& at, int sign, int first, int end);
  double (*far_potential)(const MeshView& m, const Site& at);
  double (*near_potential)(const Rules& r, const MeshRules& mesh, const Partners& g,
                           const Places* ranges, int count, const Site& at, int& coincident);
  void (*follow_accepted)(const Rules& r, const Partners& from, const Partners& to,
                          const Move* moves, int count, std::size_t begin, std::size_t end,
                          double* estimate);
};
MANYMOVE_KERNELS(Kernels)

}  // namespace manymove::coulomb
