// SPDX-License-Identifier: BSD-3-Clause
// The far field of the method "tree" on the host: the mesh for a system, what its transform is
// multiplied by, and a bound of the potential's error (docs/theory/coulomb.md, section 8).
#pragma once

#include <vector>

#include "../runtime/fft.h"
#include "splitting.h"
#include "state.h"

namespace manymove::coulomb {

struct FarField {
  MeshRules mesh;
  NearTable near_table;  // for sums in float32
  // The transform's factors, for magnitudes of the wave numbers: [half[0]][half[1]][half[2]], the
  // last axis padded with zeros; 0 where a wave number is left out.
  std::vector<double> factor;
  int half[3];
  double pair_error;  // of the potential of a unit charge anywhere
  double ion_error;   // of that of an ion, whatever its charge, in addition
  double norm_error;  // of any potential, times the Euclidean norm of the charges on the mesh
  double magnitude;   // sum of |z|
  ErrorBound bound;
  double quanta;  // of one unit charge at a distance of one unit
  double points;  // of the transform
};

// ions_per_point: of the mesh; fewer make the mesh finer and the direct sums shorter. Throws
// std::invalid_argument for a box with nearest images.
FarField make_far_field(const State& state, double ions_per_point);

// The far field of what moves change, on a coarser mesh, with a reach that is kCoarser times as
// long as that of the ions' field. `moves`: at most so many.
inline constexpr double kCoarser = 3;
FarField make_far_field_of_moves(const State& state, const FarField& of_ions, std::size_t moves);

// In trials: from one transform of the ions' mesh to the next, and from one of the moves' mesh to
// the next. Equal: there is no mesh of moves.
struct Epochs {
  std::size_t outer = 0, inner = 0;
};

// What the parts of a sweep take, in any unit of time.
struct Costs {
  double point;     // of a mesh, in its transform
  double launch;    // of an epoch, whatever its mesh
  double pair;      // a trial and an accepted move before it in its epoch
  double near;      // a place and a source within reach
  double of_moves;  // a trial and the mesh of moves: two potentials, and charges
};
// A function of the number of ions and of the costs alone.
Epochs epochs_for(const State& state, const FarField& field, const Costs& costs);

}  // namespace manymove::coulomb
