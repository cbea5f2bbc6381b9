// SPDX-License-Identifier: BSD-3-Clause
// The schedule "serial": the chain as it is defined, one trial after the other and one pair term
// after the other. Tests compare the other schedules with it.
#pragma once

#include "sweep.h"

namespace manymove::coulomb {

inline void sweep_serially(CpuSweep& sweep) {
  const State& state = sweep.state;
  const Rules& r = state.rules;
  for (std::size_t i = 0; i < sweep.ions(); ++i) {
    if (!sweep.trials[i].inside) continue;
    const Move move = sweep.move_of(i);
    std::int64_t change = 0;
    bool overlap = false;
    for (std::size_t j = 0; j < sweep.ions(); ++j) {
      if (j == i) continue;
      const Site& other = state.sites[j];
      overlap = overlap ||
                too_close(squared_distance(r, move.to, other), state.radius[i], state.radius[j]);
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
    ++sweep.evaluated;
    if (!overlap && sweep.decide(i, change)) sweep.count_accepted(i, change);
  }
}

}  // namespace manymove::coulomb
