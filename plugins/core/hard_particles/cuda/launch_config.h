// SPDX-License-Identifier: BSD-3-Clause
// What the host and the kernels of spheres agree on.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../constant_pressure/volume.h"
#include "../fields.h"
#include "../particles.h"
#include "../state.h"

struct float4;

namespace manymove::hard_particles {

// The tables of the law on a device: the diameters of particles in the caller's unit, and what is
// in integer units, which follows the volume and the swap moves, by particle and by pairs of types.
struct LawTables {
  double *reference, *diameters;
  Label* labels;
  double* contacts;
  float *sigmas, *radii;
};

// Global memory for tiles with more particles than fit into shared memory, in parts that blocks
// lock for a cycle.
struct Scratch {
  float4* spheres;      // [parts][size]
  std::uint32_t* ids;   // [parts][size]
  unsigned int* locks;  // [parts]
  int parts, size;
};

// The least of r^2 / sigma^2 of the pairs in contact after a cycle, with r in integer units and
// sigma in the caller's unit.
struct PairSearch {
  unsigned long long* least;  // null: no search; the bits of a positive float64
  float reach;                // squared distances that count, in squared contact distances
  double contact;             // in the caller's unit: of one size, squared,
  const double* diameters;    // by particle,
  const double* contacts;     // and of types, squared
};

// What a kernel leaves for the host of the trial changes of the volume, in the host's memory.
struct BoxAnswer {
  double least_ratio;
  bool for_host;        // whether the host has to change more than the scale
  unsigned int number;  // of the trial changes, written last
};

// The trial changes of the volume before a cycle, if its kernel chooses among their outcomes.
struct VolumeChoice {
  const unsigned long long* least;  // null: it does not; as in PairSearch, of the cycle before
  unsigned long long* spent;        // that of the cycle before that, to be cleared
  double most;                      // the least ratio, if no pair is closer
  volatile BoxAnswer* answer;
  unsigned int number;
  VolumeOutcomes outcomes;
};

// The outcome of a least ratio, and whether it is left to the host.
MM_HD int outcome_of(const VolumeOutcomes& all, double least) {
  int k = 0;
  while (k < all.number && least < all.from[k]) ++k;
  return k;
}
MM_HD bool for_host(const VolumeOutcomes& all, int outcome) {
  return outcome == all.number || all.host[outcome];
}

inline constexpr unsigned long long kNoRatio = 0x7ff0000000000000ull;

struct LaunchArrays {
  const Sphere* old_spheres;
  const std::uint32_t* old_counts;
  Sphere* new_spheres;
  std::uint32_t* new_counts;
  MoveCounts* counts;
  Scratch scratch;
  const unsigned int* skip;  // null, or: do nothing if it points at something else than 0
  const Scale* scale;        // null, or: what the device has chosen instead of the arguments'
  PairSearch search;
};

// How a kernel schedules its work; it has no say in the trajectory.
struct LaunchConfig {
  int capacity;  // particles of a tile in shared memory
  int list;      // neighbors that a thread has room for
  int moves;     // moves that a thread keeps
  int threads;   // of a block
  // Null, or the tile of each block (order.h). Then the next kernel's blocks wait until all of this
  // one have done most of their work, because those that start early would not be where they
  // belong.
  const std::uint16_t* order;
};

// The tables of a law in the unit of length of a new volume.
struct Rescaling {
  const double* reference;  // diameters of an additive mixture (types: 0), or contact distances
  std::size_t count;        // number of these values; 0: nothing has changed
  int types;
  double unit;
  LawTables tables;
};

// The search for the least ratio of all pairs after a cycle, whose end the host waits for.
struct BoxChoice;  // box_moves.h
struct RatioSearch {
  Law reference;
  LeastRatio wanted;
  BoxChoice* choice;
  volatile BoxAnswer* answer;  // null: no search
};

// One of several systems that share launches, for some cycles.
struct System {
  Geometry g;
  Law law;
  Sphere* spheres[2];  // the present ones first
  std::uint32_t* counts[2];
  MoveCounts* moves;
  Scratch scratch;
  int capacity;       // as in LaunchConfig
  int tiles, cycles;  // it takes part in the first cycles of a launcher's batch
  Histograms histograms;
  Rescaling rescaling;  // before the first cycle
  RatioSearch search;   // after the last one
  // Swap moves.
  int swap_every;   // cycles; 0: none
  SwapRules rules;  // but for the cycle and the order of the sets
  LawTables tables;
  unsigned long long* swap_counts;  // trials made and accepted
  int swap_capacity;                // particles of a tile in shared memory

  MM_HD bool swaps_after(std::uint64_t cycles) const {
    return swap_every && cycles % static_cast<std::uint64_t>(swap_every) == 0;
  }
};

// A kernel for each number of threads that visit a cell together, without or with energies.
struct CycleKernel {
  void (*run)(Geometry, Law, Draw, LaunchArrays, LaunchConfig, VolumeChoice);
  void (*run_in_fields)(Geometry, Law, Draw, LaunchArrays, LaunchConfig, FieldView);
  int lanes, most_threads;
  int list, moves;  // of a thread, as in LaunchConfig
  // For many systems; null if they do not use it.
  void (*run_systems)(const System*, const Draw*, int cycle);

  auto with_run(auto&& task) const { return run_in_fields ? task(run_in_fields) : task(run); }
};
struct CycleKernels {
  CycleKernel many_tiles, some_tiles, two_tiles, few_tiles;
  CycleKernel crowded;  // few tiles, with many particles in a cell
};
struct KernelsOfLaw : CycleKernels {
  void (*histogram)(Geometry, Law, Histograms, const Sphere*, const std::uint32_t*, std::uint64_t*);
  void (*histogram_of_systems)(const System*, std::uint64_t* const* rows, int cycle);
};
// Those of D dimensions and of the contact law; a source each. Sums: of a table whose contact
// distances are sums of radii.
template <Contact C, bool Sums = false>
KernelsOfLaw kernels_of(int dimensions);
template <Contact C, bool Sums = false>
CycleKernels cycles_in_fields(int dimensions);
CycleKernels cycles_with_steps(int dimensions);  // of a table

// Cells of one set in a tile, at most.
MM_HD int set_cells(const Geometry& g, int dimensions) {
  return (g.tile[0] / 2) * (g.tile[1] / 2) * (dimensions == 3 ? g.tile[2] / 2 : 1);
}

// What the slots of landing particles, and a visit's moves and lists and the indices after them,
// take in turn.
MM_HD int work_bytes(const LaunchConfig& s, bool mixed) {
  const int landing = s.capacity * 4,
            visits = s.capacity * (mixed ? 4 : 0) + (s.list * 2 + s.moves * 16) * s.threads;
  return ((landing > visits ? landing : visits) + 3) / 4 * 4;
}

inline std::size_t shared_bytes(const State& s, const LaunchConfig& config) {
  const Geometry& g = s.geometry;
  return static_cast<std::size_t>(config.capacity) * 16 +
         static_cast<std::size_t>(work_bytes(config, s.distances.contact != Contact::one_size)) +
         (static_cast<std::size_t>(g.plane) + 1) * 4 +
         (static_cast<std::size_t>(set_cells(g, s.dimensions())) << s.dimensions()) * 2;
}

}  // namespace manymove::hard_particles
