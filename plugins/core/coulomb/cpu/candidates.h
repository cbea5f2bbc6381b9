// SPDX-License-Identifier: BSD-3-Clause
// The order of a sweep for the schedules "brush" and "tree": candidates first. The other trials are
// rejected early, so that their ions stay where they are.
#pragma once

#include "sweep.h"

namespace manymove::coulomb {

class Candidates {
 public:
  explicit Candidates(std::size_t ions) : decision_(ions), order_(ions) {}

  // Finds them, and puts the ions of the sweep in order.
  void find(CpuSweep& sweep) {
    decide_early(sweep);
    std::size_t others = 0;
    count_ = 0;
    for (const std::uint8_t d : decision_) others += d == candidate;
    for (std::size_t i = 0; i < order_.size(); ++i)
      order_[decision_[i] == candidate ? count_++ : others++] = static_cast<std::int32_t>(i);
    for (std::size_t k = 0; k < order_.size(); ++k) sweep.put(k, sweep.state.sites[order_[k]]);
    sweep.evaluated = count_;
  }

  std::size_t count() const { return count_; }
  // The ion at a place in the order.
  std::int32_t operator[](std::size_t place) const { return order_[place]; }
  // Ions by cell, at the start of the sweep.
  const CellLists& lists() const { return lists_; }

 private:
  void decide_early(CpuSweep& sweep) {
    lists_.fill(sweep.state);
    for (std::size_t i = 0; i < order_.size(); ++i)
      decision_[i] = sweep.trials[i].inside ? candidate : outside;
    // Later ions have not moved at a trial's turn, and those outside stay anyway.
    // First overlaps with ions that certainly stand still at the trial's turn; then overlaps with
    // the ions that these have stopped: docs/theory/coulomb.md, section 3.
    reject(sweep, blocked, [&](int i, int j) { return j > i || decision_of(j) == outside; });
    reject(sweep, blocked_by_blocked, [&](int, int j) { return decision_of(j) == blocked; });
  }
  // Other threads' new decisions do not matter to this stage, whether they are seen or not.
  std::uint8_t decision_of(int j) const { return __atomic_load_n(&decision_[j], __ATOMIC_RELAXED); }
  // Takes `decision` for those that overlap with an ion that stays.
  void reject(CpuSweep& sweep, EarlyDecision decision, auto stays) {
    const State& state = sweep.state;
    sweep.for_each_of_share(order_.size(), [&](int i) {
      if (decision_of(i) == candidate &&
          overlaps(
              state.rules, lists_.view(), [&](int j) { return state.sites[j]; },
              state.radius.data(), i, sweep.moved_to(i), [&](int j) { return stays(i, j); }))
        __atomic_store_n(&decision_[i], static_cast<std::uint8_t>(decision), __ATOMIC_RELAXED);
    });
    sweep.shares.gather({0, order_.size()}, decision_.data());
  }

  std::vector<std::uint8_t> decision_;  // in the order of the input
  std::vector<std::int32_t> order_;
  std::size_t count_ = 0;
  CellLists lists_;
};

}  // namespace manymove::coulomb
