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

// The memory behind Partners.
struct Columns {
  std::vector<float> x, y, z, charge;

  void resize(std::size_t count) {
    for (auto* column : {&x, &y, &z, &charge}) column->resize(count);
  }
  void put(std::size_t place, const Site& s) {
    x[place] = s.x;
    y[place] = s.y;
    z[place] = s.z;
    charge[place] = s.charge;
  }
  Partners partners() const { return {x.data(), y.data(), z.data(), charge.data()}; }
};

// Partners from begin to the one before end.
struct IndexRange {
  std::size_t begin, end;
};

// The far field in memory. The spectrum has a row of `stride` numbers for each point along x and
// each wave number along y; those beyond half the length follow by symmetry.
struct MeshArrays {
  const MeshRules* rules;
  std::int64_t* charge;  // [points[0]][points[1]][points[2]]
  double* potential;     // the same
  double *re, *im;       // [points[0]][length[1]][stride]
  const double* factor;  // [][half_y][stride]
  FftPlan plan[3];
  const Complex<double>* twiddle[3];
  int stride, half_y, longest;
};
struct Move {
  Site from, to;
};

// Arrays come as pointer and number: std::span's functions would be compiled for a SIMD level, and
// other sources could link to these.
struct Kernels {
  // Change of a trial's potential by the partners of a range, without the trial's own index, and
  // the least squared distance of the new place from them, not below rounding.
  std::int64_t (*change_of)(const Rules& r, bool double_precision, const Partners& g,
                            IndexRange range, std::size_t self, const Move& move, float& nearest2);
  // Potential at `at` from the partners, in float64.
  std::int64_t (*potential)(const Rules& r, const Partners& g, IndexRange range, const Site& at);
  // Adds the pairs of ion i with those of a range.
  void (*count_pairs)(const Rules& r, const Bins& b, const Partners& g, const std::int32_t* species,
                      std::size_t i, IndexRange range, std::uint64_t* counts);

  // Transforms of the mesh; `memory` holds 4 numbers per SIMD lane and point of the longest line.
  double (*forward_z)(const MeshArrays& m, int x, double* memory);
  void (*along_y)(const MeshArrays& m, int x, bool inverse, double* memory);
  void (*along_x)(const MeshArrays& m, int ky, double* memory);
  void (*inverse_z)(const MeshArrays& m, int x, double* memory);
  // Puts an ion's charge on the mesh (sign 1) or takes it off (-1).
  void (*add_charge)(const MeshArrays& m, const Site& at, int sign, int first, int end);
  double (*far_potential)(const MeshArrays& m, const Site& at);
  double (*near_potential)(const Rules& r, const MeshRules& mesh, const Partners& g,
                           const IndexRange* ranges, int count, const Site& at, int& coincident);
  // Adds what accepted moves change for the trials of a range, in units of a potential.
  void (*follow_accepted)(const Rules& r, const Partners& from, const Partners& to,
                          const Move* moves, int count, IndexRange trials, double* estimate);
};
MANYMOVE_KERNELS(Kernels)

}  // namespace manymove::coulomb
