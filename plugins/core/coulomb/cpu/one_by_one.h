// SPDX-License-Identifier: BSD-3-Clause
// The schedules "reduction" (section 4) and "serial": one trial after the other. Reduction has the
// pair terms of a trial over the threads, in SIMD registers; serial is the chain as it is defined,
// one pair term after the other, with which tests compare the other schedules.
#pragma once

#include "sweep.h"

namespace manymove::coulomb {

// CpuSweep::change_by() as it is defined.
inline std::int64_t serial_change(const CpuSweep& sweep, IndexRange range, std::size_t i) {
  const State& state = sweep.state;
  const Rules& r = state.rules;
  const Move move = sweep.move_of(i);
  std::int64_t change = 0;
  for (std::size_t j = range.begin; j < range.end; ++j) {
    if (j == i) continue;
    const Site& other = state.sites[j];
    const auto term = [&](const Site& at) {
      return for_space(r, [&](auto space) {
        const auto d = separation<space()>(r, at, other);
        if (state.parameters.double_precision) return potential_term<space()>(r, other.charge, d);
        const auto in_single = [](double a) { return static_cast<float>(a); };
        return potential_term_single<space()>(
            r, other.charge,
            Separation<float>{in_single(d.x), in_single(d.y), in_single(d.z),
                              in_single(d.squared)});
      });
    };
    // Equation 2; here all x_j belong to this trial's turn.
    change = wrapping_sum(change, wrapping_difference(term(move.to), term(move.from)));
  }
  return change;
}

inline void sweep_one_by_one(CpuSweep& sweep) {
  constexpr std::size_t kIonsPerItem = 4096;
  const State& state = sweep.state;
  const bool serial = state.parameters.method == Method::serial;
  const std::size_t n = sweep.ions();
  sweep.put_all();
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
      float nearest2 = 0;
      // Items of 4,096 ions for each thread; equation 2 for this trial's turn.
      change[item] =
          serial ? serial_change(sweep, range, i) : sweep.change_by(range, i, i, nearest2);
      // The exact test only where some ion is closer than any pair's contact in float32; serial
      // leaves 0 and always tests.
      overlap[item] = nearest2 < state.rules.surely_free && hits(range);
    };
    if (serial || change.size() == 1)
      for (int item = 0; item < static_cast<int>(change.size()); ++item) add(item, 0);
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
