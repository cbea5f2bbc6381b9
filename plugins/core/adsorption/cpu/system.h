// SPDX-License-Identifier: BSD-3-Clause
// A system of molecules and the memory to work on it, for kernels.cpp alone.
#pragma once

#include "../arrays.h"

namespace manymove::adsorption::MANYMOVE_SIMD {
namespace {

// A coordinate that is farther than the cutoff from all others: it adds nothing to any energy.
template <class F>
constexpr F kFar = F(1e18);

// Memory for one worker.
template <class F>
struct Scratch {
  F *x, *y, *z;                        // [slots][kTogether]: of several systems, or of the first
  Site* sites;                         // [slots][kTogether], as [slots][3][kTogether]
  F *px, *py, *pz, *energy, *weights;  // [kMostProposals]
  Site* proposals;
  std::uint32_t* words;  // [4][kMostProposals]

  Scratch(void* memory, int slots) {
    auto* next = static_cast<char*>(memory);
    const auto take = [&](std::size_t bytes) {
      char* here = next;
      next += (bytes + 63) / 64 * 64;
      return here;
    };
    const std::size_t side = static_cast<std::size_t>(slots) * kTogether;
    for (F** p : {&x, &y, &z}) *p = reinterpret_cast<F*>(take(side * sizeof(F)));
    sites = reinterpret_cast<Site*>(take(side * sizeof(Site)));
    for (F** p : {&px, &py, &pz, &energy, &weights})
      *p = reinterpret_cast<F*>(take(kMostProposals * sizeof(F)));
    proposals = reinterpret_cast<Site*>(take(kMostProposals * sizeof(Site)));
    words = reinterpret_cast<std::uint32_t*>(take(4 * kMostProposals * sizeof(std::uint32_t)));
  }
};

// One system of several molecules, for the methods that take systems one by one.
template <class F>
struct System {
  const PointArrays<F>& w;
  const Model<F>& m;
  int id;
  Site* sites;
  std::int32_t* counts;
  F *x, *y, *z;
  double energy;

  System(const PointArrays<F>& work, int system, const Scratch<F>& s)
      : w(work),
        m(work.m),
        id(system),
        sites(work.sites + static_cast<std::size_t>(system) * work.slots),
        counts(work.counts + static_cast<std::size_t>(system) * work.m.species),
        x(s.x),
        y(s.y),
        z(s.z),
        energy(work.energies[system]) {
    for (int b = 0; b < m.species; ++b)
      for (int i = 0; i < counts[b]; ++i) refresh(m.first_slot[b] + i);
  }
  void refresh(int slot) {
    const Point<F> p = to_point(m, sites[slot]);
    x[slot] = p.x;
    y[slot] = p.y;
    z[slot] = p.z;
  }
  void put(int slot, const Site& s) {
    sites[slot] = s;
    refresh(slot);
  }
  int molecules() const {
    int n = 0;
    for (int b = 0; b < m.species; ++b) n += counts[b];
    return n;
  }
  // The slot and the species of the k-th molecule.
  int find(int k, int& species) const {
    species = 0;
    while (k >= counts[species]) k -= counts[species++];
    return m.first_slot[species] + k;
  }
};

}  // namespace
}  // namespace manymove::adsorption::MANYMOVE_SIMD
