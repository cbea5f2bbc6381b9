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

// Calls count(place) for the histograms of a pair in [1 + 2 number][kinds][bins], where those of
// contact come first: for each step one of the distances below its range and one above, from the
// range on and in contact distances. Exact up to the float64 square roots and one division.
template <class Count>
MM_HD void step_bins(const StepView& s, const Law& law, const ContactBins& bins, std::uint32_t i,
                     std::uint32_t j, const float d[3], Count&& count) {
  if (s.number == 0 || fast_fma(d[0], d[0], fast_fma(d[1], d[1], d[2] * d[2])) > bins.farthest2)
    return;
  const int pair = law.labels[i].type * s.types + law.labels[j].type;
  const int kinds = s.types * (s.types + 1) / 2, kind = pair_kind<Contact::table>(law, i, j);
  const double square = exact_square(d[0], d[1], d[2]), distance = square_root(square);
  const double contact = square_root(law.contacts[pair]);
  MM_NO_UNROLL
  for (int k = 0; k < s.number; ++k) {
    const int at = k * s.types * s.types + pair;
    if (s.energies[at] == 0) continue;
    const bool above = square >= s.squares[at];
    const double away = distance - square_root(s.squares[at]);
    const double bin = (above ? away : -away) / contact * bins.per_unit;
    if (!(bin < bins.bins)) continue;
    count(((1 + 2 * k + above) * kinds + kind) * bins.bins + (bin < 0 ? 0 : static_cast<int>(bin)));
  }
}

// What a GPU needs for the histograms of a sample, which are in a block's fast memory if they fit.
struct Histograms {
  ContactBins bins;
  StepView steps;
  int number;
  bool in_shared;
};

// ---- changes of the box (docs/theory/step_potentials.md, section 7) ----

// A pair that may cross a range: its squared distance in integer units, and the place of the step
// in the tables.
struct Crossing {
  double square;
  std::int64_t at;
};
// The pairs that trial changes of the volume may move across a range: those with squared distances
// from `least` to `most` of the square of the range, within `range` cells.
struct CrossingsWanted {
  double least, most;
  float farthest2;  // a float32 bound on the squared distances that count
  int range;
};

// Calls found(crossing) for the steps of a pair.
template <class Found>
MM_HD void crossings_of(const StepView& s, const Law& law, const CrossingsWanted& wanted,
                        std::uint32_t i, std::uint32_t j, const float d[3], Found&& found) {
  if (fast_fma(d[0], d[0], fast_fma(d[1], d[1], d[2] * d[2])) > wanted.farthest2) return;
  const double square = exact_square(d[0], d[1], d[2]);
  const int pair = law.labels[i].type * s.types + law.labels[j].type;
  MM_NO_UNROLL
  for (int k = 0; k < s.number; ++k) {
    const int at = k * s.types * s.types + pair;
    if (s.energies[at] != 0 && square >= wanted.least * s.squares[at] &&
        square < wanted.most * s.squares[at])
      found(Crossing{square, at});
  }
}

// ---- on the host ----

// Refuses steps that the engine does not have. Particles of one size become those of a single type.
// Returns the largest range, or the largest contact distance. Called when the contact distances are
// known, before the grid is chosen.
double settle_steps(State& state);
// The tables in integer units, when the grid is known.
void fill_steps(State& state);
// The squares of the ranges in units of this length, [steps][types][types], as the tables have
// them.
std::vector<double> squares_at(const State& state, double unit);
// With tables in the memory of the host, which belong to the state.
StepView step_view(const State& state);
// The energy of each particle [N] with all others, at coordinates [N][D].
std::vector<double> step_energies_at(const State& state, const double* coordinates);
// The rise of the energy in kT if the unit of length changes, by the pairs that may cross a range.
double rise_of(const State& state, const std::vector<Crossing>& crossings, double from, double to);

}  // namespace manymove::hard_particles
