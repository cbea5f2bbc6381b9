// SPDX-License-Identifier: BSD-3-Clause
// The schedule "brush" (section 3): threads over groups of trials. A thread adds the pair terms of
// its group while the groups before are being decided, and decides it in its turn. Several ranks
// share the pair terms of a block of groups, and each decides all groups of the block.
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
    const std::size_t candidates = order_.count();
    for (std::size_t g = 0; g * kGroup < candidates; ++g)
      decided_[g].store(0, std::memory_order_relaxed);
    change_.assign(candidates, 0);
    overlap_.assign(candidates, 0);
    energy_.assign(candidates, 0);
    accepted_ = 0;
    const std::size_t block = sweep_.shares.alone() ? candidates : kBlock;
    for (std::size_t begin = 0; begin < candidates; begin += block)
      decide_block({begin, std::min(candidates, begin + block)});
    sweep_.accepted = accepted_;
    for (const std::int64_t e : energy_) sweep_.energy += e;
  }

 private:
  static constexpr std::size_t kGroup = 64;  // trials of a thread between two looks at the others
  static constexpr std::size_t kWait = 4;    // groups that are waited for together
  static constexpr std::size_t kRows = 8;    // trials of a work item of a rank's share
  static constexpr std::size_t kCached = 1024;  // partners that stay in the first-level cache
  // Trials that several ranks decide at a time. A multiple of kWait groups, so that the
  // float32 sums of mixed precision have the same terms on any number of ranks.
  static constexpr std::size_t kBlock = kWait * kGroup;

  // All ranks hold all ions and decide all trials. They divide the pairs with ions that do not move
  // while the trials of the block are being decided.
  void decide_block(IndexRange block) {
    Shares& shares = sweep_.shares;
    if (!shares.alone()) {
      const IndexRange mine = shares.mine(block);
      // Work items do not cross the borders of groups.
      const std::size_t first = mine.begin / kRows, items = (mine.end + kRows - 1) / kRows - first;
      for_each_item(sweep_.pool, static_cast<int>(items), [&](int item, int) {
        const std::size_t row = (first + static_cast<std::size_t>(item)) * kRows;
        add_settled({std::max(mine.begin, row), std::min(mine.end, row + kRows)}, block.begin);
      });
      shares.gather(block, change_.data(), overlap_.data());
    }
    const std::size_t first = block.begin / kGroup,
                      groups = (block.end + kGroup - 1) / kGroup - first;
    // Groups are started in order, so that a group waits only for groups that have been started.
    for_each_item(sweep_.pool, static_cast<int>(groups), [&](int group, int) {
      decide_group(first + static_cast<std::size_t>(group), block.begin);
    });
  }

  // Adds the pair terms of a trial with the partners of a range. `look`: also checks for overlaps.
  void add_pairs(std::size_t self, IndexRange range, bool look) {
    const std::size_t i = order_[self];
    const State& state = sweep_.state;
    const Site to = sweep_.moved_to(i);
    float nearest2;
    change_[self] = wrapping_sum(change_[self], sweep_.change_by(range, i, self, nearest2));
    if (!look || !(nearest2 < state.rules.surely_free)) return;
    for (std::size_t k = range.begin; k < range.end; ++k)
      overlap_[self] =
          overlap_[self] ||
          too_close(squared_distance(state.rules, to, {sweep_.x[k], sweep_.y[k], sweep_.z[k], 0}),
                    state.radius[i], state.radius[order_[k]]);
  }
  // The same for a range of trials; the partners are taken in parts that fit into the cache.
  void add_all_pairs(IndexRange rows, IndexRange range, bool look) {
    for (std::size_t part = range.begin; part < range.end; part += kCached)
      for (std::size_t row = rows.begin; row < rows.end; ++row)
        add_pairs(row, {part, std::min(range.end, part + kCached)}, look);
  }

  // Adds the pair terms of trials of one group with ions that do not move until these trials are
  // decided: later ions, resting ions, and ions before `block`, whose trials have been decided.
  void add_settled(IndexRange rows, std::size_t block) {
    const std::size_t candidates = order_.count(),
                      end = std::min(candidates, (rows.begin / kGroup + 1) * kGroup);
    // Equation 2, i < j: later ions have not moved, and overlaps with them have been found already.
    add_all_pairs(rows, {end, candidates}, false);
    add_all_pairs(rows, {candidates, sweep_.ions()}, true);
    for (std::size_t row = rows.begin; row < rows.end; ++row)  // Algorithm 3, the upper triangle
      add_pairs(row, {row + 1, end}, false);
    for (std::size_t other = 0; other < block; other += kWait * kGroup)
      add_all_pairs(rows, {other, other + kWait * kGroup}, true);
  }

  void decide_group(std::size_t number, std::size_t block) {
    const IndexRange rows{number * kGroup, std::min(order_.count(), (number + 1) * kGroup)};
    if (sweep_.shares.alone()) add_settled(rows, block);
    // Equation 2, i > j: groups of the block before, as they are decided (Algorithm 2).
    for (std::size_t other = block / kGroup; other < number; other += kWait) {
      const std::size_t last = std::min(number, other + kWait);
      // Acquire: a group that is decided has put its ions' new places into the columns. Waiting for
      // the last of some groups is enough, because each waits for all before it.
      while (!decided_[last - 1].load(std::memory_order_acquire)) std::this_thread::yield();
      add_all_pairs(rows, {other * kGroup, last * kGroup}, true);
    }
    std::uint64_t accepted = 0;
    for (std::size_t row = rows.begin; row < rows.end; ++row) {  // Algorithm 4, the lower triangle
      add_pairs(row, {rows.begin, row}, true);
      const std::size_t i = order_[row];
      // Equation 1; the ion's new place enters the sums of the rows below.
      if (overlap_[row] || !sweep_.decide(i, change_[row])) continue;
      energy_[row] = sweep_.energy_of(i, change_[row]);
      ++accepted;
      sweep_.put(row, sweep_.state.sites[i]);
    }
    decided_[number].store(1, std::memory_order_release);
    accepted_ += accepted;
  }

  CpuSweep& sweep_;
  Candidates order_;
  std::vector<std::atomic<std::uint32_t>> decided_;
  std::atomic<std::uint64_t> accepted_{0};
  // For each trial in the order of the sweep: change of the potential, whether the trial overlaps,
  // and change of the energy in quanta.
  std::vector<std::int64_t> change_;
  std::vector<char> overlap_;
  std::vector<std::int64_t> energy_;
};

}  // namespace manymove::coulomb
