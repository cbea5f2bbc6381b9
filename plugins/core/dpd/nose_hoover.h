// SPDX-License-Identifier: BSD-3-Clause
// A chain of Nose-Hoover thermostats: half a step of its variables, in the order in which LAMMPS'
// fix nvt takes them (G. J. Martyna, M. E. Tuckerman, D. J. Tobias, M. L. Klein, Mol. Phys. 87,
// 1117 (1996)).
#pragma once

#include <cmath>
#include <utility>
#include <vector>

#include "engine.h"

namespace manymove::dpd {

inline bool are_near(double a, double b, double tolerance) {
  return std::fabs(a - b) <= tolerance * (std::fabs(a) + std::fabs(b));
}

class NoseHooverChain {
 public:
  NoseHooverChain(const NoseHoover& settings, double time_step)
      : settings_(settings), time_step_(time_step) {
    start({std::vector<double>(static_cast<std::size_t>(settings.chain)),
           std::vector<double>(static_cast<std::size_t>(settings.chain)), settings.temperature});
  }

  // Whether another state is this one but for rounding errors, which are all that drives the chain
  // at the temperature of the thermostat: the scale of its velocities is time step / damping
  // time^2.
  bool agrees_with(const NoseHooverState& other) const {
    const double kick = time_step_ / (settings_.damping_time * settings_.damping_time);
    const auto near = [](double a, double b, double scale) {
      return std::fabs(a - b) <= 1e-10 * (std::fabs(a) + std::fabs(b) + scale);
    };
    bool same = are_near(state_.temperature, other.temperature, 1e-12);
    for (std::size_t k = 0; k < state_.position.size(); ++k)
      same = same && near(state_.position[k], other.position[k], time_step_ * kick) &&
             near(state_.velocity[k], other.velocity[k], kick);
    return same;
  }
  // The present state. Accelerations follow from it, as in the setup of a run.
  void start(NoseHooverState state) {
    state_ = std::move(state);
    acceleration_.assign(state_.position.size(), 0.0);
    for (std::size_t k = 1; k < acceleration_.size(); ++k) find_acceleration(k);
  }
  const NoseHooverState& state() const { return state_; }
  void measure(double temperature) { state_.temperature = temperature; }

  // Half a step dt/2 of the chain. The speed of each thermostat is updated by quarter steps, from
  // the last one to the first: v_k <- (v_k e^(-v_(k+1) dt/8) + G_k dt/4) e^(-v_(k+1) dt/8). The
  // particles are then scaled by e^(-v_1 dt/2), and the chain is updated again in the reverse
  // order. Returns the factor of the velocities.
  double half_step() {
    std::vector<double>& speed = state_.velocity;
    const std::size_t chain = speed.size();
    const double quarter = 0.25 * time_step_, eighth = 0.125 * time_step_;
    const auto decay = [&](std::size_t k) {
      return k + 1 < chain ? std::exp(-eighth * speed[k + 1]) : 1.0;
    };
    find_acceleration(0);
    double by = 1;
    for (std::size_t k = chain; k-- > 0;) {
      by = decay(k);
      speed[k] = (speed[k] * by + acceleration_[k] * quarter) * by;
    }
    const double factor = std::exp(-0.5 * time_step_ * speed[0]);
    // The kinetic energy goes with the square of the velocities.
    state_.temperature *= factor * factor;
    state_.factor = factor;
    for (std::size_t k = 0; k < chain; ++k) state_.position[k] += 0.5 * time_step_ * speed[k];
    for (std::size_t k = 0; k < chain; ++k) {
      if (k > 0) by = decay(k);  // the first one decays as before
      speed[k] *= by;
      find_acceleration(k);
      speed[k] = (speed[k] + acceleration_[k] * quarter) * by;
    }
    return factor;
  }

 private:
  double mass(std::size_t k) const {
    // Q_1 = N_f k_B T0 tau^2 and Q_k = k_B T0 tau^2.
    const double energy = settings_.boltzmann * settings_.temperature,
                 time = settings_.damping_time;
    return (k == 0 ? settings_.degrees_of_freedom : 1.0) * energy * time * time;
  }
  // The first one is driven by the temperature, the others by those before them:
  // G_1 = N_f k_B (T - T0) / Q_1 and G_k = (Q_(k-1) v_(k-1)^2 - k_B T0) / Q_k.
  void find_acceleration(std::size_t k) {
    if (k == 0) {
      acceleration_[0] = settings_.degrees_of_freedom * settings_.boltzmann *
                         (state_.temperature - settings_.temperature) / mass(0);
      return;
    }
    const double before = state_.velocity[k - 1];
    acceleration_[k] =
        (mass(k - 1) * before * before - settings_.boltzmann * settings_.temperature) / mass(k);
  }

  NoseHoover settings_;
  double time_step_;
  NoseHooverState state_;
  std::vector<double> acceleration_;
};

}  // namespace manymove::dpd
