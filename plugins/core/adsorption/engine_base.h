// SPDX-License-Identifier: BSD-3-Clause
// What the engines have in common, whose state is a State or a MoleculeState.
#pragma once

#include <utility>
#include <vector>

#include "state.h"

namespace manymove::adsorption {

template <class StateOfEngine>
class EngineBase : public Engine {
 public:
  void set_max_displacement(double angstrom) final {
    check_displacement(state_, angstrom);
    state_.data.max_displacement = angstrom;
  }
  double max_displacement() const final { return state_.data.max_displacement; }
  void set_activities(const std::vector<double>& activities) final {
    adsorption::set_activities(state_, activities);
    reset_averages();
  }
  Counters counters() const final { return state_.data.counters; }
  GridInfo grid_info() const final { return state_.info; }
  std::vector<int> capacities() const final { return adsorption::capacities(state_); }
  std::size_t molecules() const final { return molecules_of(state_.parameters); }
  std::vector<IdealChain> ideal_chains() const final {
    if constexpr (requires(const StateOfEngine& s) { s.ideal; })
      return state_.ideal;
    else
      return {};
  }

 protected:
  explicit EngineBase(StateOfEngine state) : state_(std::move(state)) {}

  StateOfEngine state_;  // on a GPU without the arrays, which the device has
};

}  // namespace manymove::adsorption
