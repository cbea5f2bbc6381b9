// SPDX-License-Identifier: BSD-3-Clause
// Point particles of a system on a CPU, and batches of proposals in memory. Included only by
// sources that are compiled once per SIMD level, after runtime/vec.h.
#pragma once

#include "../point_proposals.h"
#include "loop_team.h"

namespace manymove::adsorption::MANYMOVE_SIMD {
namespace {

// Proposal i is that of lane i / own.
template <class F>
struct LoopBatch {
  const PointScratch<F>* memory;
  int own;

  int count() const { return own * kWidth; }
  void each(const auto& f) const {
    for (int i = 0; i < count(); ++i) f(i, memory->proposals[i]);
  }
  // Calls f(energy, weight) for all proposals; a lane takes its own in the order of its sums.
  template <LaneTeam Team, class Function>
  void each_item(const Team&, const Function& f) const {
    F *const energy = memory->energy, *const weights = memory->weights;
    for (int i = 0; i < count(); ++i) f(energy[i], weights[i]);
  }
  void each_of(int l, const auto& f) const {
    for (int i = l * own; i < (l + 1) * own; ++i) f(memory->energy[i], memory->weights[i]);
  }
  template <LaneTeam Team, class Function>
  void each_center(const Team&, const Function& f) const {
    for (int i = 0; i < count(); ++i) f(memory->proposals[i], memory->weights[i]);
  }

  void draw(PhiloxKey key, std::uint64_t step, int system, const auto& site_of) const {
    std::uint32_t* const words = memory->words;
    // Philox for as many proposals at a time as a register has lanes: the words are those of a loop
    // over the proposals.
    for (int base = 0; base < count(); base += manymove::kLanes) {
      UintLanes lanes[4], index;
      for (int l = 0; l < manymove::kLanes; ++l) index[l] = static_cast<std::uint32_t>(base + l);
      random_words(lanes, key, step, UintLanes{} + static_cast<std::uint32_t>(system), index,
                   Purpose::propose);
      for (int a = 0; a < 3; ++a)
        __builtin_memcpy(words + a * kMostProposals + base, &lanes[a], sizeof lanes[a]);
    }
    each([&](int i, Site& site) {
      const std::uint32_t word[3] = {words[i], words[kMostProposals + i],
                                     words[2 * kMostProposals + i]};
      site = site_of(word);
    });
  }
  void set_first(const Site& s) const { memory->proposals[0] = s; }
  // Every site becomes the sum of those up to it.
  void add_up() const {
    for (int i = 1; i < count(); ++i)
      memory->proposals[i] = moved(memory->proposals[i], memory->proposals[i - 1]);
  }

  Site site_at(int i) const { return memory->proposals[i]; }
  Site site_of(int l) const { return memory->proposals[l]; }
  F energy_at(int i) const { return memory->energy[i]; }
  F first_energy() const { return memory->energy[0]; }
  int choose(F rest, int lane) const {
    return lane * own + choose_own(rest, memory->weights + lane * own, own);
  }
  void by_owner(int i, const auto& f) const { f(memory->proposals[i]); }

  // kWidth proposals in sequence, which are close to each other.
  struct Part {
    const Site* site;
    F* energy;
    F x[kWidth], y[kWidth], z[kWidth], sum[kWidth];

    Part(const Site* sites, F* energies) : site(sites), energy(energies) {}
    void begin(const Model<F>& m, int) {
      for (int l = 0; l < kWidth; ++l) {
        const Point<F> p = to_point(m, site[l]);
        x[l] = p.x, y[l] = p.y, z[l] = p.z;
        sum[l] = 0;
      }
    }
    Surroundings<F> surroundings(const Model<F>& m) const {
      // The smallest box around the part, relative to its first place.
      Extent extent{};
      for (int l = 0; l < kWidth; ++l) extent.include(site[0], site[l]);
      return surroundings_of(m, site[0], extent);
    }
    void each(const auto& f) {
      for (int l = 0; l < kWidth; ++l) f(Point<F>{x[l], y[l], z[l]}, sum[l]);
    }
    void end(const Model<F>& m, int species) {
      // E_i = sum_j u(r_ij) + E_grid(r_i), Eq. 5.
      for (int l = 0; l < kWidth; ++l) energy[l] = sum[l] + framework_energy(m, species, site[l]);
    }
  };
  void each_part(const auto& f) const {
    for (int base = 0; base < count(); base += kWidth)
      f(Part(memory->proposals + base, memory->energy + base));
  }
};

// The memory of a PointSystem: sites in the state, and a copy of their coordinates.
template <class F>
struct LoopPoints {
  static constexpr bool kHides = true;
  const PointScratch<F>* scratch;
  int proposals;
  F *x, *y, *z, *near_x, *near_y, *near_z;
  Site* sites;
  std::int32_t *counts, *none;
  std::uint64_t* profile;

  LoopPoints(const PointArrays<F>& w, int system, const PointScratch<F>& s)
      : scratch(&s),
        proposals(w.proposals),
        x(s.x),
        y(s.y),
        z(s.z),
        // With one system at a time, the room of the others holds the list of near molecules.
        near_x(s.x + w.slots),
        near_y(s.y + w.slots),
        near_z(s.z + w.slots),
        sites(w.sites + static_cast<std::size_t>(system) * w.slots),
        counts(w.counts + static_cast<std::size_t>(system) * w.m.species),
        none(reinterpret_cast<std::int32_t*>(s.words)),
        profile(w.profile + static_cast<std::size_t>(system % w.groups) * w.m.bins) {}
  void store(const PointArrays<F>&, int) const {}

  Site site(int slot) const { return sites[slot]; }
  Point<F> point(int slot) const { return {x[slot], y[slot], z[slot]}; }
  void set_point(int slot, const Point<F>& p) { x[slot] = p.x, y[slot] = p.y, z[slot] = p.z; }
  void set(int slot, const Site& s, const Point<F>& p) {
    sites[slot] = s;
    set_point(slot, p);
  }
  void put_far(int slot) { x[slot] = kFar<F>; }
  void set_near(int place, int slot) {
    near_x[place] = x[slot], near_y[place] = y[slot], near_z[place] = z[slot];
  }
  struct List {
    const F *x, *y, *z;
    Point<F> operator[](int j) const { return {x[j], y[j], z[j]}; }
  };
  List list_from(int slot) const { return {x + slot, y + slot, z + slot}; }
  List near_list() const { return {near_x, near_y, near_z}; }
  // Leaves the empty framework.
  void forget_molecules(int species) {
    counts = none;
    for (int b = 0; b < species; ++b) none[b] = 0;
  }

  LoopBatch<F> batch() const { return {scratch, proposals / kWidth}; }
  LoopBatch<F> tries() const { return {scratch, 1}; }
};

template <LaneTeam TeamOf, class F>
PointSystem<TeamOf, F, LoopPoints<F>> system_of(const PointArrays<F>& w, int system,
                                                const PointScratch<F>& scratch) {
  static constexpr TeamOf kTeam;
  return {w, system, kTeam, LoopPoints<F>(w, system, scratch)};
}
template <LaneTeam TeamOf, class F, class Run>
void with_system(const PointArrays<F>& w, int system, void* memory, const Run& run) {
  const auto& scratch = *static_cast<const PointScratch<F>*>(memory);
  auto s = system_of<TeamOf>(w, system, scratch);
  run(s);
}

}  // namespace
}  // namespace manymove::adsorption::MANYMOVE_SIMD
