// SPDX-License-Identifier: BSD-3-Clause
// A team of lanes that shares the work of one system, so that the steps of a system are written
// once for CPU and GPU. On a GPU the team is a warp or several warps; on a CPU it is a loop over as
// many lanes as a warp has, or one lane alone. Sums have the same order for the same number of
// lanes: several warps share the work that does not depend on an order; work that does is done by
// one of them, or identically by each of them.
//
// A team has
//   neighbors: the number of neighbors of a molecule whose energies are computed at a time
//   width, Lane<T>: a value of each lane; each(f): f(lane) by every lane of every warp
//   strided(begin, end, f): f(lane, i) for all i from begin below end with i - begin equal to lane
//     modulo width
//   share(count, f): f(i) for all i below count in any order, by all warps
//   tasks(counters, count, f): f(t) for all t below count, each by a whole warp, which takes
//     another one when it is done
//   total(counters, amount): the sum over all threads, with a sync(). Several warps need
//     reset(counters) and a sync() before tasks() and total()
//   bring(from, count, to): a copy in fast memory, where that is another memory
//   first_warp(): whether this warp does what only one should do; one(): a team of one warp
//   sum(values), lowest(values), highest(values): of all lanes of a warp, by a butterfly
//   difference(f): f(false) - f(true), of which two lanes may compute one each
//   levels(values): partial sums for choose_lane()
//   any(values): whether a lane has true; first(values): the first lane that has true
//   compact(count, test, store): store(i, place) for each i below count with test(i), in their
//     order; returns how many there are
//   Whole: a team of as many lanes as a warp has, by which energies are summed from scratch
//   leads(): whether this thread writes what the team shares; sync(): makes it visible
//   add(address, amount): an atomic sum
//   words_of_step(key, step, system): the random words of a step with several proposals
//   Draws: the draws that all systems have in common, one step after the other
#pragma once

#include <concepts>

#include "arrays.h"

#if defined(__CUDACC__)
#define MM_TEAM __device__ inline
#define MM_TEAM_CALL __device__ __noinline__  // rare: the code of the steps stays small
#define MM_UNROLL_BY_2 _Pragma("unroll 2")
#define MM_UNROLL_ON_GPU MM_UNROLL  // registers of a GPU have no index
#else
#define MM_TEAM inline
#define MM_TEAM_CALL inline
#define MM_UNROLL_BY_2
#define MM_UNROLL_ON_GPU
#endif

namespace manymove::adsorption {

template <class T>
concept LaneTeam = requires(std::uint64_t* address, std::uint64_t amount,
                            const typename T::template Lane<float>& values,
                            const typename T::template Lane<bool>& flags) {
  { T::width + 0 } -> std::same_as<int>;
  { T::neighbors + 0 } -> std::same_as<int>;
  typename T::One;
  typename T::Whole;
  typename T::Draws;
  { T::sum(values) } -> std::same_as<float>;
  { T::lowest(values) } -> std::same_as<float>;
  { T::any(flags) } -> std::same_as<bool>;
  { T::first(flags) } -> std::same_as<int>;
  { T::leads() } -> std::same_as<bool>;
  { T::first_warp() } -> std::same_as<bool>;
  { T::one() } -> std::same_as<typename T::One>;
  T::sync();
  T::add(address, amount);
};

// A system that the moves change: PointSystem or MoleculeSystem. Placed is where a molecule is: a
// Site, or a Pose.
template <class S>
concept MoleculesOfTeam = LaneTeam<typename S::Team> && requires(S s, int species, int slot) {
  typename S::Real;
  { center_of(s.placed(slot)) } -> std::convertible_to<Site>;
  s.put(species, slot, s.placed(slot));
  { s.change_of_deletion(species, slot) } -> std::same_as<typename S::Real>;
  { s.total_energy() } -> std::same_as<double>;
};

// ---- what all systems have in common ----

MM_HD double& sum_of(const auto& w, int system, int sum) {
  return w.sums[static_cast<std::size_t>(sum) * w.systems + system];
}
MM_TEAM double& sum_of(const MoleculesOfTeam auto& s, int sum) { return sum_of(s.w, s.id, sum); }
MM_TEAM int count_molecules(const MoleculesOfTeam auto& s) {
  int n = 0;
  for (int b = 0; b < s.m.species; ++b) n += s.counts[b];
  return n;
}
// The slot and the species of the k-th molecule.
MM_TEAM int find_molecule(const MoleculesOfTeam auto& s, int k, int& species) {
  species = 0;
  while (k >= s.counts[species]) k -= s.counts[species++];
  return s.m.first_slot[species] + k;
}
MM_TEAM void set_count(const MoleculesOfTeam auto& s, int species, int count) {
  // All lanes have read the former number, and read the new one afterwards.
  s.team.sync();
  if (s.team.leads()) s.counts[species] = count;
  s.team.sync();
}

// What a worker counts: MoveCounts, or a lane's part of them.
template <class C>
concept CountsMoves = requires(C c) {
  ++c.accepted;
  ++c.exchanges;
  ++c.accepted_exchanges;
  c.full |= 1u;
};

// What the warps of a team count together.
struct TeamCounters {
  std::int64_t sum;
  int task;
};

// The result that one warp of a team computes for the others: the next state of several proposals.
struct Choice {
  double total;  // of the weights
  int proposal;
};

// The random words of a step with several proposals: those of all systems, the length of the second
// walk, and the choice.
struct StepWords {
  CommonDraw common;
  std::uint32_t split, choice;
};

// The common draws, each computed when it is asked for.
struct EachDraw {
  PhiloxKey key;
  MM_HD EachDraw(PhiloxKey k, std::uint64_t) : key(k) {}
  MM_HD CommonDraw at(std::uint64_t step) const { return common_draw(key, step); }
};

}  // namespace manymove::adsorption
