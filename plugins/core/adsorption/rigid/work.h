// SPDX-License-Identifier: BSD-3-Clause
// What the kernels for rigid molecules work on, on a host or on a device.
#pragma once

#include "../cpu/kernels.h"
#include "../engine.h"
#include "model.h"

namespace manymove::adsorption {

template <class F>
struct RigidWork {
  RigidModel<F> r;
  Method method;
  int proposals;
  bool moments, measure;
  int systems, slots, groups;
  int places;  // slots of sites of a system: of each species, its sites times its slots
  F hill;
  std::uint64_t first_step, steps;
  Site* centers;           // [systems][slots]
  Quaternion* turns;       // [systems][slots]
  std::int32_t* counts;    // [systems][species]
  double* energies;        // [systems]
  double* sums;            // [kSums][systems]
  std::uint64_t* profile;  // [groups][bins]
  double* waves;           // [systems][waves][2]: structure factors, cosine and sine
  std::uint64_t* reached;  // as Work has it
  bool again;
};

template <class F>
struct RigidTest {
  RigidWork<F> work;
  std::uint64_t first, count;
  int species;
  bool empty;
  double* sums;  // [systems][2]
};

// Whether a step's proposals are anywhere in the box, as for single sites.
template <class F>
MM_HD bool uniform_proposals(const RigidWork<F>& w, std::uint64_t step) {
  return w.method == Method::mup && (w.measure || (step & 1));
}

// Memory of one worker besides the state: where the sites are, and what a step needs.
template <class F>
struct RigidScratch {
  std::uint32_t* sites[3];  // [places]
  std::uint32_t* near[3];   // [places]: sites close to the molecule that moves
  Pose* walk[2];            // [most proposals], also of starts and test molecules
  F* energy;                // [most proposals]
  F* weight;                // [most proposals]
  F* change;                // [waves][2]
  F* others;                // [waves][2]

  MM_HD static std::size_t align(std::size_t bytes) { return (bytes + 63) / 64 * 64; }
  MM_HD static std::size_t bytes(int places, int proposals) {
    return 6 * align(static_cast<std::size_t>(places) * sizeof(std::uint32_t)) +
           2 * align(static_cast<std::size_t>(proposals) * sizeof(Pose)) +
           2 * align(static_cast<std::size_t>(proposals) * sizeof(F));
  }
  // memory: bytes(places, proposals), aligned to 64; changes: [2][waves][2].
  MM_HD RigidScratch(char* memory, int places, int proposals, F* changes, int waves)
      : change(changes), others(changes + 2 * static_cast<std::size_t>(waves)) {
    for (int a = 0; a < 6; ++a) {
      (a < 3 ? sites[a] : near[a - 3]) = reinterpret_cast<std::uint32_t*>(memory);
      memory += align(static_cast<std::size_t>(places) * sizeof(std::uint32_t));
    }
    for (int b = 0; b < 2; ++b) {
      walk[b] = reinterpret_cast<Pose*>(memory);
      memory += align(static_cast<std::size_t>(proposals) * sizeof(Pose));
    }
    energy = reinterpret_cast<F*>(memory);
    weight = reinterpret_cast<F*>(memory + align(static_cast<std::size_t>(proposals) * sizeof(F)));
  }
};

// At least kWidth, for starts and test molecules.
template <class F>
MM_HD int walk_length(const RigidWork<F>& w) {
  const bool multiple = w.method == Method::mup || w.method == Method::mdp;
  return multiple ? w.proposals : kWidth;
}

// The framework's energies on the unit cell's grid.
struct RigidImage {
  double x, y, z, charge;  // e times the square root of Coulomb's constant
  std::int32_t kind;
};
struct RigidGridWork {
  const RigidImage* images;
  std::size_t count;
  const PairLaw<double>* laws;  // [kinds][types]
  int types, points;            // points along the first edge
  double start, spacing;        // x of the row's first point, and between two of them
  double y, z, cutoff2, alpha;
  bool charged;
};

template <class F>
struct RigidKernels {
  void (*run_system)(const RigidWork<F>& w, int system, const RigidScratch<F>& s, Tally& tally);
  void (*place_molecules)(const RigidWork<F>& w, int system, const RigidScratch<F>& s,
                          Tally& tally);
  void (*sum_energies)(const RigidWork<F>& w, int system, const RigidScratch<F>& s);
  void (*insert_test_molecules)(const RigidTest<F>& t, int system, const RigidScratch<F>& s);
  // energies: [types][points] without charges; potential: [points], in the real-space part.
  void (*fill_row)(const RigidGridWork& g, double* energies, double* potential);
};
MANYMOVE_KERNELS(RigidKernels<float>)
MANYMOVE_KERNELS(RigidKernels<double>)

}  // namespace manymove::adsorption
