// SPDX-License-Identifier: BSD-3-Clause
// Steps of the energies of pairs (square wells and shoulders) in the policy `Particles`, on every
// backend, and what the host has of them (docs/theory/step_potentials.md).
//
// Energies are integers here, multiples of kQuantum, so that a sum over neighbors has the same bits
// in any order; and a pair is within a range by the exact square of its distance.
#pragma once

#include <vector>

#include "particles.h"

namespace manymove::hard_particles {

struct State;

inline constexpr double kQuantum = 0x1p-32;    // kT
inline constexpr double kLargestEnergy = 1e3;  // kT, of a step; sums stay below 2^63

// The steps on the memory of the engine's device. Lengths are in integer units.
struct StepView {
  int number;
  int types;
  float margin;                  // as in Law
  float farthest2;               // a bound on the squared distances within any range
  const double* squares;         // of the ranges, [number][types][types]
  const float* bounds;           // the same, rounded
  const std::int64_t* energies;  // [number][types][types]
  const float* reaches;          // [types][types], the largest range, or the contact distance
};

// The energy of two particles of types a and b.
MM_HD std::int64_t pair_energy(const StepView& s, int a, int b, float dx, float dy, float dz) {
  const float square = fast_fma(dx, dx, fast_fma(dy, dy, dz * dz));
  std::int64_t sum = 0;
  MM_NO_UNROLL
  for (int k = 0; k < s.number; ++k) {
    const int at = (k * s.types + a) * s.types + b;
    const float beyond = square - s.bounds[at];
    if (beyond < -s.margin || (beyond <= s.margin && exact_square(dx, dy, dz) < s.squares[at]))
      sum += s.energies[at];
  }
  return sum;
}

// ---- on the host ----

// Refuses steps that the engine does not have. Particles of one size become those of a single type.
// Returns the largest range, or the largest contact distance. Called when the contact distances are
// known, before the grid is chosen.
double settle_steps(State& state);
// The tables in integer units, when the grid is known.
void fill_steps(State& state);
// With tables in the memory of the host, which belong to the state.
StepView step_view(const State& state);
// The energy of each particle [N] with all others, at coordinates [N][D].
std::vector<double> step_energies_at(const State& state, const double* coordinates);

}  // namespace manymove::hard_particles
