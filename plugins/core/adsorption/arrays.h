// SPDX-License-Identifier: BSD-3-Clause
// Systems on one core; kernels.cpp defines it once per SIMD level.
#pragma once

#include "../runtime/simd.h"
#include "engine.h"
#include "model.h"

namespace manymove::adsorption {

inline constexpr int kTogether = 16;  // systems side by side in SIMD lanes (pmc)
inline constexpr int kMostProposals = 512;

struct MoveCounts {
  std::uint64_t accepted = 0, exchanges = 0, accepted_exchanges = 0;
  unsigned full = 0;   // species, a bit each, that had no slot left for an insertion
  bool stuck = false;  // a molecule found no place
};

// An atom of the framework or a periodic image of one, within the cutoff of the unit cell.
struct Image {
  double x, y, z;
  std::int32_t kind;
};

template <class F>
struct PointArrays {
  Model<F> m;
  Method method;
  int proposals;
  bool moments, measure;
  int systems, slots, groups;
  F hill;
  std::uint64_t first_step, steps;
  Site* sites;             // [systems][slots]
  std::int32_t* counts;    // [systems][species]
  double* energies;        // [systems]
  double* sums;            // [kSums][systems]
  std::uint64_t* profile;  // [groups][bins]
  // [systems], for open systems: the step that each has reached and from which `again` continues.
  std::uint64_t* reached;
  bool again;
};

// Whether a step's proposals are anywhere in the box. Those of mup are, but every other step that
// is not measured goes along random walks: dense systems hardly relax by uniform proposals.
template <class F>
MM_HD bool uniform_proposals(const PointArrays<F>& w, std::uint64_t step) {
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
template <class F>
struct TestInsertions {
  PointArrays<F> work;
  std::uint64_t first, count;
  int species;
  bool empty;
  double* sums;
};

// scratch: what scratch_bytes() says, aligned to 64 bytes. Systems first ... first + kTogether - 1
// as far as they exist.
std::size_t scratch_bytes(int slots, std::size_t real);

template <class F>
struct Kernels {
  void (*run_systems)(const PointArrays<F>& w, int first, void* scratch, MoveCounts& moves);
  void (*place_molecules)(const PointArrays<F>& w, int first, void* scratch, MoveCounts& moves);
  void (*sum_energies)(const PointArrays<F>& w, int first, void* scratch);
  void (*insert_test_molecules)(const TestInsertions<F>& t, int system, void* scratch);
  // near: [count], room for the images close to the row.
  void (*fill_row)(const GridSum& g, int row, int layer, std::int32_t* near, double* energies);
};
MANYMOVE_KERNELS(Kernels<float>)
MANYMOVE_KERNELS(Kernels<double>)

}  // namespace manymove::adsorption
