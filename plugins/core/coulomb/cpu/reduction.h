// SPDX-License-Identifier: BSD-3-Clause
// The schedule "reduction" (section 4): one trial after the other, its pair terms over the threads.
#pragma once

#include "sweep.h"

namespace manymove::coulomb {

inline void sweep_by_reduction(CpuSweep& sweep) {
  constexpr std::size_t kIonsPerItem = 4096;
  const State& state = sweep.state;
  const std::size_t n = sweep.ions();
  sweep.gather();
  std::vector<std::int64_t> change((n + kIonsPerItem - 1) / kIonsPerItem);
  std::vector<char> overlap(change.size());
  for (std::size_t i = 0; i < n; ++i) {
    if (!sweep.trials[i].inside) continue;
    const Site to = sweep.moved_to(i);
    const auto hits = [&](IndexRange range) {
      for (std::size_t j = range.begin; j < range.end; ++j)
        if (j != i && too_close(squared_distance(state.rules, to, state.sites[j]), state.radius[i],
                                state.radius[j]))
          return true;
      return false;
    };
    const auto add = [&](int item, int) {
      const std::size_t begin = item * kIonsPerItem;
      const IndexRange range{begin, std::min(n, begin + kIonsPerItem)};
      float nearest2;
      change[item] = sweep.change_by(range, i, i, nearest2);
      overlap[item] = nearest2 < state.rules.surely_free && hits(range);
    };
    if (change.size() == 1)
      add(0, 0);
    else
      for_each_item(sweep.pool, static_cast<int>(change.size()), add);
    std::int64_t sum = 0;
    for (const std::int64_t c : change) sum = wrapping_sum(sum, c);
    ++sweep.evaluated;
    if (std::find(overlap.begin(), overlap.end(), 1) == overlap.end() && sweep.decide(i, sum)) {
      sweep.count_accepted(i, sum);
      sweep.put(i, state.sites[i]);
    }
  }
}

}  // namespace manymove::coulomb
