// SPDX-License-Identifier: BSD-3-Clause
// What the CPU engines have in common: threads with a moves and scratch memory each.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "../../runtime/parallel_for.h"
#include "../engine_base.h"

namespace manymove::adsorption {

template <class StateOfEngine>
class CpuEngineBase : public EngineBase<StateOfEngine> {
 protected:
  using EngineBase<StateOfEngine>::state_;

 public:
  void reset_averages() final {
    std::fill(state_.data.sums.begin(), state_.data.sums.end(), 0.0);
    std::fill(state_.data.profile.begin(), state_.data.profile.end(), 0);
    state_.data.counters.samples = 0;
  }
  Snapshot snapshot() const final {
    check_whole(state_);
    return state_.data;
  }

 protected:
  CpuEngineBase(StateOfEngine state, int threads)
      : EngineBase<StateOfEngine>(std::move(state)), pool_(threads), of_threads_(pool_.size()) {
    if (state_.parameters.exchange > 0) reached_.resize(state_.parameters.systems);
  }

  // For each thread, aligned to cache lines.
  void make_scratch(std::size_t bytes) {
    scratch_.clear();
    for (std::size_t i = 0; i < of_threads_.size(); ++i) {
      scratch_.emplace_back(std::aligned_alloc(64, (bytes + 63) / 64 * 64));
      if (!scratch_.back()) throw std::bad_alloc();
    }
  }
  void* scratch_of(int thread) const { return scratch_[thread].get(); }

  MoveCounts& counts_of(int thread) { return of_threads_[thread].moves; }
  void clear_counts() {
    for (Slot& t : of_threads_) t.moves = {};
  }
  MoveCounts sum_of_counts() const {
    MoveCounts sum;
    for (const Slot& t : of_threads_) {
      sum.accepted += t.moves.accepted;
      sum.exchanges += t.moves.exchanges;
      sum.accepted_exchanges += t.moves.accepted_exchanges;
      sum.full |= t.moves.full;
    }
    return sum;
  }
  void check_all_placed() const {
    for (const Slot& t : of_threads_) check_placed(state_, t.moves);
  }

  // Of the state, to the work of a kernel.
  template <class Arrays>
  void set_arrays(Arrays& w) {
    Snapshot& d = state_.data;
    w.counts = d.counts.data();
    w.energies = d.energies.data();
    w.sums = d.sums.data();
    w.profile = d.profile.data();
    w.reached = reached_.empty() ? nullptr : reached_.data();
  }

  ThreadPool pool_;

 private:
  struct alignas(128) Slot {
    MoveCounts moves;
  };
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  std::vector<Slot> of_threads_;
  std::vector<std::unique_ptr<void, Free>> scratch_;
  std::vector<std::uint64_t> reached_;
};

}  // namespace manymove::adsorption
