// SPDX-License-Identifier: BSD-3-Clause
// The schedule "brush" (section 3): threads over groups of trials. A thread adds the pair terms of
// its group while the groups before are being decided, and decides it in its turn.
#pragma once

#include <atomic>
#include <thread>

#include "candidates.h"

namespace manymove::coulomb {

class Brush {
 public:
  explicit Brush(CpuSweep& sweep)
      : sweep_(sweep), order_(sweep.ions()), decided_((sweep.ions() + kGroup - 1) / kGroup) {}

  void sweep() {
    order_.find(sweep_);
    const std::size_t groups = (order_.count() + kGroup - 1) / kGroup;
    for (std::size_t g = 0; g < groups; ++g) decided_[g].store(0, std::memory_order_relaxed);
    energy_.assign(order_.count(), 0);
    std::atomic<std::uint64_t> accepted{0};
    // Groups are handed out in order: a group waits only for some that are under way.
    for_each_item(sweep_.pool, static_cast<int>(groups),
                  [&](int group, int) { accepted += one_group(static_cast<std::size_t>(group)); });
    sweep_.accepted = accepted;
    for (const std::int64_t e : energy_) sweep_.energy += e;
  }

 private:
  static constexpr std::size_t kGroup = 64;    // trials of a thread between two looks at the others
  static constexpr std::size_t kWait = 4;      // groups that are waited for together
  static constexpr std::size_t kBlock = 1024;  // partners that stay in the first-level cache

  // Trials `first` + row in the order of a sweep.
  struct Group {
    std::size_t first, count;
    std::int64_t change[kGroup] = {};
    bool overlap[kGroup] = {};
  };

  // One trial of a group against the partners of a range; `look`: for overlaps, too.
  void add_pairs(Group& group, std::size_t row, IndexRange range, bool look) const {
    const std::size_t self = group.first + row, i = order_[self];
    const State& state = sweep_.state;
    const Site to = sweep_.moved_to(i);
    float nearest2;
    group.change[row] = wrapping_sum(group.change[row], sweep_.change_by(range, i, self, nearest2));
    if (!look || !(nearest2 < state.rules.surely_free)) return;
    for (std::size_t k = range.begin; k < range.end; ++k)
      group.overlap[row] =
          group.overlap[row] ||
          too_close(squared_distance(state.rules, to, {sweep_.x[k], sweep_.y[k], sweep_.z[k], 0}),
                    state.radius[i], state.radius[order_[k]]);
  }
  // All of them, block by block.
  void add_all_pairs(Group& group, IndexRange range, bool look) const {
    for (std::size_t block = range.begin; block < range.end; block += kBlock)
      for (std::size_t row = 0; row < group.count; ++row)
        add_pairs(group, row, {block, std::min(range.end, block + kBlock)}, look);
  }

  // Returns the number of accepted trials.
  std::uint64_t one_group(std::size_t number) {
    const std::size_t candidates = order_.count();
    Group group{number * kGroup, std::min(kGroup, candidates - number * kGroup)};
    const std::size_t begin = group.first, end = begin + group.count;
    // Equation 2, i < j: later ions have not moved, and overlaps with them have been found already.
    add_all_pairs(group, {end, candidates}, false);
    add_all_pairs(group, {candidates, sweep_.ions()}, true);
    for (std::size_t row = 0; row < group.count; ++row)  // Algorithm 3, the upper triangle
      add_pairs(group, row, {begin + row + 1, end}, false);
    // Equation 2, i > j: groups before, as they are decided (Algorithm 2).
    for (std::size_t other = 0; other < number; other += kWait) {
      const std::size_t last = std::min(number, other + kWait);
      // Acquire: a group that is decided has put its ions' new places into the columns. Waiting for
      // the last of some groups is enough, because each waits for all before it.
      while (!decided_[last - 1].load(std::memory_order_acquire)) std::this_thread::yield();
      add_all_pairs(group, {other * kGroup, last * kGroup}, true);
    }
    std::uint64_t accepted = 0;
    for (std::size_t row = 0; row < group.count; ++row) {  // Algorithm 4, the lower triangle
      add_pairs(group, row, {begin, begin + row}, true);
      const std::size_t i = order_[begin + row];
      // Equation 1; the ion's new place enters the sums of the rows below.
      if (group.overlap[row] || !sweep_.decide(i, group.change[row])) continue;
      energy_[begin + row] = sweep_.energy_of(i, group.change[row]);
      ++accepted;
      sweep_.put(begin + row, sweep_.state.sites[i]);
    }
    decided_[number].store(1, std::memory_order_release);
    return accepted;
  }

  CpuSweep& sweep_;
  Candidates order_;
  std::vector<std::atomic<std::uint32_t>> decided_;
  std::vector<std::int64_t> energy_;  // change by each candidate, in quanta
};

}  // namespace manymove::coulomb
