// SPDX-License-Identifier: BSD-3-Clause
// What the host and the kernels of spheres agree on.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "../model.h"
#include "../state.h"

struct float4;

namespace manymove::hard_particles::spheres {

struct Tally {
  unsigned long long trial_moves, accepted_moves;
  unsigned int corrupt;
};

// Global memory for tiles with more particles than fit into shared memory, in parts that blocks
// lock for a cycle.
struct Scratch {
  float4* spheres;      // [parts][size], one more than a tile can hold
  std::uint32_t* ids;   // [parts][size]
  unsigned int* locks;  // [parts]
  int parts, size;
};

struct Buffers {
  const Sphere* old_spheres;
  const std::uint32_t* old_counts;
  Sphere* new_spheres;
  std::uint32_t* new_counts;
  Tally* tally;
  Scratch scratch;
};

// How a kernel schedules its work; it has no say in the trajectory.
struct Schedule {
  int capacity;  // particles of a tile in shared memory
  int rows;      // lists of neighbors
  int list;      // neighbors in each, as the kernel has them
  int strays;    // that a tile has before its lists are made again
  float skin;    // of the lists
  float range;   // of it for the particle that moves
  int threads;   // of a block
};

// A kernel for each number of threads that visit a cell together.
struct CycleKernel {
  void (*run)(Geometry, Law, Draw, Buffers, Schedule);
  int lanes, most_threads;
  int list;  // neighbors for which it has room
};
using HistogramKernel = void (*)(Geometry, Law, ContactBins, int kinds, bool in_shared,
                                 const Sphere*, const std::uint32_t*, std::uint64_t*);
struct KernelsOfLaw {
  CycleKernel alone, together;
  HistogramKernel histogram;
};
// Those of D dimensions and of the contact law; a source each.
template <Contact C>
KernelsOfLaw kernels_of(int dimensions);
template <>
KernelsOfLaw kernels_of<Contact::one_size>(int dimensions);
template <>
KernelsOfLaw kernels_of<Contact::additive>(int dimensions);
template <>
KernelsOfLaw kernels_of<Contact::table>(int dimensions);

// Cells of one set in a tile, at most.
MM_HD int set_cells(const Geometry& g, int dimensions) {
  const int half = g.tile / 2;
  return half * half * (dimensions == 3 ? half : 1);
}

// Active particles of a tile, with a margin for their fluctuations.
inline int expected_rows(const State& s) {
  double n = static_cast<double>(s.particles) / static_cast<double>(s.cells());
  for (int a = 0; a < s.dimensions(); ++a) n *= std::min(s.geometry.cells[a], s.geometry.tile) - 1;
  return static_cast<int>(1.04 * n + 5 * std::sqrt(n) + 16);
}

// The skin with which a particle has about three neighbors less than fit into its list; the
// density around a particle is above the mean.
inline float skin_for(const State& s, int list) {
  double cell = 1;
  for (int a = 0; a < s.dimensions(); ++a) cell *= 2.0 * static_cast<double>(s.geometry.half[a]);
  const double density = static_cast<double>(s.particles) / static_cast<double>(s.cells()) / cell;
  const double sigma = static_cast<double>(law_of(s).largest);
  const double more = (list - 3) / (1.6 * density);
  const double skin =
      s.dimensions() == 3 ? std::cbrt(sigma * sigma * sigma + more * 0.75 / M_PI) - sigma
                          : std::sqrt(sigma * sigma + more / M_PI) - sigma;
  return static_cast<float>(std::min(skin, 2 * sigma));
}

inline std::size_t shared_bytes(const State& s, const Schedule& schedule) {
  const Geometry& g = s.geometry;
  const bool mixed = s.distances.contact != Contact::one_size;
  const auto capacity = static_cast<std::size_t>(schedule.capacity),
             rows = static_cast<std::size_t>(schedule.rows),
             cells = static_cast<std::size_t>(set_cells(g, s.dimensions()));
  return 16 * (capacity + 1) + (rows + 1) * static_cast<std::size_t>(schedule.list) * 2 +
         4 * ((mixed ? capacity : 0) + 2 * rows + 1 + static_cast<std::size_t>(g.plane) + 1 +
              (cells << s.dimensions())) +
         2 * (32 + cells);
}

}  // namespace manymove::hard_particles::spheres
