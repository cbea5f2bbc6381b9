// SPDX-License-Identifier: BSD-3-Clause
// What the kernels work on, on a host or on a device, and the kernels of a core, which kernels.cpp
// defines once per SIMD level.
#pragma once

#include "../runtime/simd.h"
#include "engine.h"
#include "model.h"

namespace manymove::adsorption {

inline constexpr int kTogether = 16;  // systems side by side in SIMD lanes (pmc)
inline constexpr int kMostProposals = 512;

// The kinds of steps: of one proposal; of several; of one, where insertions, deletions,
// reinsertions and identity changes choose one of several poses; and of chains, which grow.
enum class Steps { one, several, trials, chains };

struct MoveCounts {
  std::uint64_t accepted = 0, exchanges = 0, accepted_exchanges = 0;
  unsigned full = 0;   // species, a bit each, that had no slot left for an insertion
  bool stuck = false;  // a molecule found no place

  MoveCounts& operator+=(const MoveCounts& other) {
    accepted += other.accepted;
    exchanges += other.exchanges;
    accepted_exchanges += other.accepted_exchanges;
    full |= other.full;
    return *this;
  }
};

// An atom of the framework or a periodic image of one, within the cutoff of the unit cell.
struct Image {
  double x, y, z;
  std::int32_t kind;
};

// The arrays of all systems, and what is the same for all steps of a run.
template <class F>
struct SystemArrays {
  Method method;
  int proposals;
  bool moments, measure;
  int systems, slots, groups;
  F hill;
  std::uint64_t first_step, steps;
  Site* sites;             // [systems][slots]; of molecules: their centers
  std::int32_t* counts;    // [systems][species]
  double* energies;        // [systems]
  double* sums;            // [kSums][systems]
  std::uint64_t* profile;  // [groups][bins]
  // [systems], for open systems: the step that each has reached and from which `again` continues.
  std::uint64_t* reached;
  bool again;
};
template <class F>
struct PointArrays : SystemArrays<F> {
  Model<F> m;
};

// Whether a step's proposals are anywhere in the box. Those of mup are, but every other step that
// is not measured goes along random walks: dense systems hardly relax by uniform proposals.
template <class F>
MM_HD bool uniform_proposals(const SystemArrays<F>& w, std::uint64_t step) {
  return w.method == Method::mup && (w.measure || (step & 1));
}

// One species' interaction with the framework, on the unit cell's grid.
struct GridSum {
  const Image* images;
  std::size_t count;
  PairLaw<double> law[64];  // per kind
  double spacing[3];
  int points[3];
};

// Test insertions: [systems][2] sums.
template <class Arrays>
struct TestInsertions {
  Arrays arrays;
  std::uint64_t first, count;
  int species;
  bool empty;
  double* sums;
};

// What a core does, for the systems first, first + 1, ... as far as they exist: kTogether point
// systems, or one of molecules. memory: of one worker, aligned to 64 bytes.
template <class Arrays>
struct Kernels {
  void (*run_systems)(const Arrays& w, int first, void* memory, MoveCounts& moves);
  void (*place_molecules)(const Arrays& w, int first, void* memory, MoveCounts& moves);
  void (*sum_energies)(const Arrays& w, int first, void* memory);
  void (*insert_test_molecules)(const TestInsertions<Arrays>& t, int system, void* memory);
};
struct GridKernels {
  // near: [count], room for the images close to the row.
  void (*fill_row)(const GridSum& g, int row, int layer, std::int32_t* near, double* energies);
};
MANYMOVE_KERNELS(Kernels<PointArrays<float>>)
MANYMOVE_KERNELS(Kernels<PointArrays<double>>)
MANYMOVE_KERNELS(GridKernels)

}  // namespace manymove::adsorption
