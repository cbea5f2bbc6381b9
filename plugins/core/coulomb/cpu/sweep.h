// SPDX-License-Identifier: BSD-3-Clause
// A sweep on a CPU: the ions, their trials, and what all schedules do with them.
#pragma once

#include <cstdint>
#include <vector>

#include "../../runtime/parallel_for.h"
#include "../state.h"
#include "shares.h"

namespace manymove::coulomb {

struct CpuSweep : Columns {  // of the ions, in the order of a sweep
  State& state;
  Shares shares;
  ThreadPool pool;
  Kernels kernels = best_level<Kernels>(MANYMOVE_LEVELS);
  std::vector<Trial> trials;  // in the order of the input
  // Counts of this sweep; energy in quanta
  std::uint64_t accepted = 0, evaluated = 0, direct = 0;
  __int128 energy = 0;

  CpuSweep(State& state, int threads)
      : state(state),
        shares(state.ranks, state.sites.size()),
        pool(threads),
        trials(state.sites.size()) {
    resize(state.sites.size());
  }

  std::size_t ions() const { return state.sites.size(); }
  // All ions, in the order of the input.
  void put_all() {
    for (std::size_t i = 0; i < ions(); ++i) put(i, state.sites[i]);
  }

  // Calls task(i) for each index of this rank's part of a range that begins with 0.
  void for_each_of_share(std::size_t count, auto task) {
    const IndexRange mine = shares.mine({0, count});
    for_each_index(pool, static_cast<int>(mine.end - mine.begin),
                   [&](int k) { task(static_cast<int>(mine.begin) + k); });
  }

  // Begins a sweep: the trial of each ion.
  void propose_all() {
    accepted = evaluated = direct = 0;
    energy = 0;
    for_each_of_share(ions(), [&](int i) {
      trials[i] = propose(state.rules, static_cast<std::uint32_t>(i), state.counters.sweeps,
                          state.sites[i]);
    });
    shares.gather({0, ions()}, trials.data());
  }

  Site moved_to(std::size_t i) const {
    return {trials[i].x, trials[i].y, trials[i].z, state.sites[i].charge};
  }
  Move move_of(std::size_t i) const { return {state.sites[i], moved_to(i)}; }

  // Change of the potential of ion i's trial by the partners of a range; `self`: i's own place.
  // nearest2: the least squared distance of the new place from them.
  std::int64_t change_by(IndexRange range, std::size_t i, std::size_t self, float& nearest2) const {
    return kernels.change_of(state.rules, state.parameters.double_precision, partners(), range,
                             self, move_of(i), nearest2);
  }

  // What a vacuum around adds to the change of a trial's potential, and to the dipole moment.
  std::int64_t from_vacuum(std::size_t i, Dipole& gain) const {
    if (!state.parameters.vacuum) return 0;
    gain = dipole_gain(state.rules, state.sites[i], moved_to(i), state.image.data() + 3 * i);
    return dipole_term(state.rules, state.sites[i].charge, state.dipole, gain);
  }
  void accept(std::size_t i, const Dipole& gain) {
    const Site to = moved_to(i);
    if (state.parameters.vacuum) {
      state.dipole = state.dipole + gain;
      follow(state.rules, state.sites[i], to, state.image.data() + 3 * i);
    }
    state.sites[i] = to;
  }
  // Equation 1. change: from the pairs; what a vacuum around adds to it is added here.
  bool decide(std::size_t i, std::int64_t& change) {
    Dipole gain{};
    change = wrapping_sum(change, from_vacuum(i, gain));
    if (!accepts(change, trials[i].most, state.sites[i].charge)) return false;
    accept(i, gain);
    return true;
  }
  // Energy change of an accepted trial, in quanta.
  std::int64_t energy_of(std::size_t i, std::int64_t change) const {
    return nearest_integer(state.sites[i].charge * static_cast<double>(change));
  }
  void count_accepted(std::size_t i, std::int64_t change) {
    energy += energy_of(i, change);
    ++accepted;
  }
};

}  // namespace manymove::coulomb
