// SPDX-License-Identifier: BSD-3-Clause
// Constant pressure: the lattice on which the box changes without rounding a position, and the
// trial changes of the volume. Numbers of sections are those of docs/theory/constant_pressure.md.
// All decisions are made on the host from IEEE operations alone, the same for every backend.
#pragma once

#include "../state.h"
#include "../steps.h"

namespace manymove::hard_particles {

// Chooses the points of the lattice along each edge, the numbers of cells that fit them, and the
// first coordinate of the volume (section 2). Throws std::invalid_argument for bad parameters.
void choose_lattice(State& state);

// Sets the box and the numbers of cells of a volume; returns false if the lattice has no grid for
// it.
bool set_box(State& state, double coordinate);

// With larger steps, trial changes could halve the edges, beyond what least_ratio_wanted() finds.
double largest_volume_delta(const State& state);

// Checks the pressure and what a trial change is like, and chooses what is left to be chosen: so
// many repeats, and steps of a share of `size` unless the system is too stiff for them. Throws
// std::invalid_argument for bad parameters.
void choose_steps(State& state, double volume, int repeats, double size, double share);
// The first two of these, and the largest relative step of a length or a volume that a system of
// this stiffness accepts, at most `share`.
void choose_repeats(State& state, int repeats);
// Refuses a width of the cells, which follow the box.
void check_cell_width(const State& state);
double relative_step(const State& state, double volume, double share);

// The volume of a coordinate, which is V itself or ln V.
double volume_of(const State& state, double coordinate);

// What the trial changes after a cycle need to know: the least of r^2 / sigma^2 over all pairs
// within `range` cells, with r in integer units and sigma in the caller's unit, or `most` if none
// is below it (section 3).
struct LeastRatio {
  double most;
  float farthest2;  // a float32 bound on the r^2 that count
  int range;
};
LeastRatio least_ratio_wanted(const State& state);

// The squared distances, in squared contact distances, up to which a cycle looks for pairs that the
// trial changes after it may need, if their volume differs from the present one by what the trial
// changes before it can do. 0 if such pairs may be more than a cell apart.
float pair_reach(const State& state);

// The least ratio of all ranks, from that of each. Collective where ranks divide the system.
double least_of_ranks(const State& state, double least);

// With steps: the pairs that the trial changes after a cycle may move across a range.
CrossingsWanted crossings_wanted(const State& state);
// Those of all ranks, from those of each. Collective where ranks divide the system.
std::vector<Crossing> crossings_of_ranks(const State& state, std::vector<Crossing> mine);

// The random numbers of a trial change of the box: its magnitude in steps, from 0 to `most`, its
// sign, and a uniform number in (0, 1) for the decision.
struct BoxTrial {
  std::uint64_t magnitude;
  bool grows;
  double uniform;
};
BoxTrial draw_box_trial(const Geometry& g, std::uint64_t cycle, int trial, std::uint64_t most);

// Makes and counts the trial changes that are due. Returns the new coordinate of the volume, to
// which the engine then changes. Throws std::runtime_error if a trial leaves the range of the
// lattice. crossings: with steps, the pairs of all ranks that are wanted. decisive: where to write
// the smallest ratio with which all decisions are the same.
double change_volume(State& state, double least_ratio, const std::vector<Crossing>& crossings = {},
                     double* decisive = nullptr);

// What of the law and of the moves changes with the volume alone. Lengths in integer units.
struct Scale {
  double contact;  // these three as in Law
  float largest, margin;
  float step;   // as in Geometry
  double unit;  // length of one integer unit
};
Scale scale_of(const State& state);

// The trial changes after a cycle as a function of the least ratio, which is not known yet: from[k]
// is the least ratio from which, up to the one before, the outcome has the scale[k]. `host` marks
// outcomes that need more than the scale: other cells, or an error. Below the last ratio, which may
// be above zero, nothing is foretold.
struct VolumeOutcomes {
  static constexpr int kMost = 16;
  int number;
  double from[kMost];
  Scale scale[kMost];
  bool host[kMost];
};
VolumeOutcomes foretell_volume(State& state, double most);

// Sets the box, the grid and the contact distances to the volume of a checkpoint. Throws
// std::invalid_argument if the lattice does not have it.
void adopt_volume(State& state, double coordinate);

// Whether two grids of the same particles have the same cells with the same slots.
bool same_cells(const Geometry& a, const Geometry& b);

// The contact distances in the caller's unit. The tables belong to the state.
Law reference_law(const State& state);

// The least ratio of the pairs of particles in a cell and of pairs with particles in the cells
// after it, or `least`. `Lanes` threads that share a cell have a part of the pairs each.
template <int D, Contact C, int Lanes, class Count>
MM_HD double least_ratio_of(const Geometry& g, const Law& reference, const LeastRatio& wanted,
                            const Sphere* spheres, const Count* counts, const int cell[3], int lane,
                            double least) {
  const int here = (cell[2] * g.cells[1] + cell[1]) * g.cells[0] + cell[0];  // at most 1e9
  const auto n = static_cast<int>(counts[here]);
  if (n == 0) return least;
  const Sphere* const own = spheres + static_cast<std::int64_t>(here) * g.slots;
  const Sphere first = own[0];
  // The cells around, from the own one on in the order of their numbers.
  const int side = 2 * wanted.range + 1, middle = (D == 3 ? side * side * side : side * side) / 2;
  for_particles_around<D, Lanes, 4>(
      g, spheres, counts, cell, wanted.range, middle, lane,
      [&](const Sphere& q, const float away[3], int other, int t) {
        const int end = other == middle ? t : n;
        for (int s = 0; s < end; ++s) {
          const Sphere p = s == 0 ? first : own[s];
          const float dx = q.x - p.x + away[0], dy = q.y - p.y + away[1],
                      dz = D == 3 ? q.z - p.z + away[2] : 0.0f;
          if (fast_fma(dx, dx, fast_fma(dy, dy, dz * dz)) > wanted.farthest2) continue;
          const double ratio = exact_square(dx, dy, dz) / contact_of<C>(reference, p.id, q.id);
          if (ratio < least) least = ratio;
        }
      });
  return least;
}

}  // namespace manymove::hard_particles
