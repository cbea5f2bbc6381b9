// SPDX-License-Identifier: BSD-3-Clause
// What the engines have in common.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "state.h"

namespace manymove::adsorption {

// Sets the arrays of all systems to those of `data`, in the memory of a host or of a device.
void point_to(auto& w, auto& data) {
  w.sites = reinterpret_cast<Site*>(data.sites.data());
  w.counts = data.counts.data();
  w.energies = data.energies.data();
  w.sums = data.sums.data();
  w.profile = data.profile.data();
  if constexpr (requires { w.turns; }) {
    w.turns = reinterpret_cast<Quaternion*>(data.orientations.data());
    w.waves = data.waves.data();
    w.shapes = data.shapes.data();
  }
}

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
  void set_trials(int positions, int orientations) final {
    const Parameters& p = state_.parameters;
    const auto trials = [&p] { return std::int64_t{p.trial_positions} * p.trial_orientations; };
    const std::int64_t held = trials();
    adsorption::set_trials(state_, positions, orientations, [&] {
      // More trials must also fit when the systems have grown once.
      if (p.exchange > 0 && trials() > held) if_grown(state_, [&] { resize_scratch(); });
      resize_scratch();
    });
  }
  Counters counters() const final { return state_.data.counters; }
  GridInfo grid_info() const final { return state_.grid->info; }
  std::shared_ptr<const void> kept_grid() const final { return state_.grid; }
  std::vector<int> capacities() const final { return adsorption::capacities(state_); }
  std::size_t molecules() const final { return molecules_of(state_.parameters); }
  std::vector<IdealChain> ideal_chains() const final { return state_.ideal; }
  void framework_energies(const double* xyz, std::size_t count, int species, bool direct,
                          double* energies) const final {
    adsorption::framework_energies(state_, xyz, count, species, direct, energies);
  }

 protected:
  // After the slots or the numbers of trials have changed: memory of the workers or warps.
  virtual void resize_scratch() = 0;

  explicit EngineBase(State state) : state_(std::move(state)) {}

  State state_;  // on a GPU without the arrays, which the device has
};

}  // namespace manymove::adsorption
