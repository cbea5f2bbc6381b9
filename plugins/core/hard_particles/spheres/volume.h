// SPDX-License-Identifier: BSD-3-Clause
// Constant pressure: the lattice on which the box changes without rounding a position, and the
// trial changes of the volume. Numbers of sections are those of docs/theory/constant_pressure.md.
// All decisions are made on the host from IEEE operations alone, the same for every backend.
#pragma once

#include "state.h"

namespace manymove::hard_particles::spheres {

// Chooses the points of the lattice along each edge, the numbers of cells that fit them, and the
// first coordinate of the volume (section 2). Throws std::invalid_argument for bad parameters.
void choose_lattice(State& state);

// Sets the box and the numbers of cells of a volume; returns false if the lattice has no grid for
// it.
bool set_box(State& state, double coordinate);

// With larger steps, trial changes could halve the edges, beyond what least_ratio_wanted() finds.
double largest_volume_delta(const State& state);

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

// The least ratio of all ranks, from that of each. Collective where ranks divide the system.
double least_of_ranks(const State& state, double least);

// Makes and counts the trial changes that are due. Returns the new coordinate of the volume, to
// which the engine then changes. Throws std::runtime_error if a trial leaves the range of the
// lattice.
double change_volume(State& state, double least_ratio);

// Sets the box, the grid and the contact distances to the volume of a checkpoint. Throws
// std::invalid_argument if the lattice does not have it.
void adopt_volume(State& state, double coordinate);

// Whether two grids of the same particles have the same cells with the same slots.
bool same_cells(const Geometry& a, const Geometry& b);

// The contact distances in the caller's unit. The tables belong to the state.
Law reference_law(const State& state);

// The least ratio of the pairs of particles in a cell and of pairs with particles in the cells
// after it, or `least`.
template <int D, Contact C, class Count>
MM_HD double least_ratio_of(const Geometry& g, const Law& reference, const LeastRatio& wanted,
                            const Sphere* spheres, const Count* counts, const int cell[3],
                            double least) {
  const auto along = [&](int axis, int by) {
    int at = cell[axis] + by;
    while (at < 0) at += g.cells[axis];
    while (at >= g.cells[axis]) at -= g.cells[axis];
    return at;
  };
  const std::int64_t here =
      (static_cast<std::int64_t>(cell[2]) * g.cells[1] + cell[1]) * g.cells[0] + cell[0];
  const auto n = static_cast<int>(counts[here]);
  const int range = wanted.range;
  for (int k = 0; n > 0 && k <= (D == 3 ? range : 0); ++k)
    for (int j = k == 0 ? 0 : -range; j <= range; ++j) {
      const std::int64_t row =
          (static_cast<std::int64_t>(D == 3 ? along(2, k) : 0) * g.cells[1] + along(1, j)) *
          g.cells[0];
      for (int i = k == 0 && j == 0 ? 0 : -range; i <= range; ++i) {
        const std::int64_t there = row + along(0, i);
        const bool own = i == 0 && j == 0 && k == 0;
        const auto others = static_cast<int>(counts[there]);
        for (int t = 0; t < others; ++t) {
          Sphere q = spheres[there * g.slots + t];
          q.x += 2.0f * g.half[0] * static_cast<float>(i);
          q.y += 2.0f * g.half[1] * static_cast<float>(j);
          if (D == 3) q.z += 2.0f * g.half[2] * static_cast<float>(k);
          for (int s = 0; s < (own ? t : n); ++s) {
            const Sphere& p = spheres[here * g.slots + s];
            const float dx = q.x - p.x, dy = q.y - p.y, dz = q.z - p.z;
            if (fast_fma(dx, dx, fast_fma(dy, dy, dz * dz)) > wanted.farthest2) continue;
            const double x = static_cast<double>(dx), y = static_cast<double>(dy),
                         z = static_cast<double>(dz);
            const double ratio = (x * x + y * y + z * z) / contact_of<C>(reference, p.id, q.id);
            if (ratio < least) least = ratio;
          }
        }
      }
    }
  return least;
}

// Means of the volume over the trial changes of records, for an engine to hand out.
class VolumeRows {
 public:
  void begin(std::uint64_t record, std::uint64_t cycle);
  void end_cycle(std::uint64_t cycle, double volume);
  // [rows][3]: means of V, V^2 and 1/V; and the cycle at which each row ended.
  std::vector<double> take(std::vector<std::uint64_t>& cycles);

 private:
  std::uint64_t record_ = 0, samples_ = 0;
  bool incomplete_ = false;
  double sums_[3] = {0, 0, 0};
  std::vector<double> rows_;
  std::vector<std::uint64_t> cycles_;
};

}  // namespace manymove::hard_particles::spheres
