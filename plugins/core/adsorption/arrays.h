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

// Whether a step chooses among several proposals (sections 4.3 and 4.4 of the paper).
MM_HD constexpr bool several_proposals(Method method) {
  return method == Method::mup || method == Method::mdp;
}

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

// The arrays of all systems, and what is the same for all steps of a run.
template <class F>
struct SystemArrays {
  using Real = F;
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

template <class F>
MM_HD Steps steps_of(const PointArrays<F>& w) {
  return several_proposals(w.method) ? Steps::several : Steps::one;
}

// Whether a step's proposals are anywhere in the box. Those of mup are, but every other step that
// is not measured goes along random walks: dense systems hardly relax by uniform proposals.
template <class F>
MM_HD bool uniform_proposals(const SystemArrays<F>& w, std::uint64_t step) {
  return w.method == Method::mup && (w.measure || (step & 1));
}

// An atom of the framework or a periodic image of one.
struct ChargedImage {
  double x, y, z, charge;  // e times the square root of Coulomb's constant
  std::int32_t kind;
};
// Those that the unit cell feels.
struct FrameworkAtoms {
  const ChargedImage* images;
  std::size_t count;
  const PairLaw<double>* laws;  // [kinds][types]
  int types;
  double cutoff2, alpha;  // atoms beyond the cutoff add nothing
  bool charged;
};
// A row of the grid of the framework's energies in the unit cell.
struct GridRow {
  int points;             // along the first edge
  double start, spacing;  // x of the row's first point, and between two of them
  double y, z;
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

// Memory of a worker for point particles, each array aligned to 64 bytes.
template <class F>
struct PointScratch {
  F *x, *y, *z;         // [slots][kTogether]: of several systems, or of the first
  Site* sites;          // [slots][kTogether], as [slots][3][kTogether]
  F *energy, *weights;  // [kMostProposals]
  Site* proposals;
  std::uint32_t* words;  // [3][kMostProposals]
};

// What a core does for a system; run_systems of method pmc for kTogether point systems from `first`
// on, as far as they exist. memory: of one worker; of point particles their PointScratch.
template <class Arrays>
struct Kernels {
  void (*run_systems)(const Arrays& w, int first, void* memory, MoveCounts& moves);
  void (*place_molecules)(const Arrays& w, int system, void* memory, MoveCounts& moves);
  void (*sum_energies)(const Arrays& w, int system, void* memory);
  void (*insert_test_molecules)(const TestInsertions<Arrays>& t, int system, void* memory);
};
struct GridKernels {
  // energies: [types][points] without charges; potential: [points], in the real-space part.
  void (*fill_row)(const FrameworkAtoms& atoms, const GridRow& row, double* energies,
                   double* potential);
};
MANYMOVE_KERNELS(Kernels<PointArrays<float>>)
MANYMOVE_KERNELS(Kernels<PointArrays<double>>)
MANYMOVE_KERNELS(GridKernels)

}  // namespace manymove::adsorption
