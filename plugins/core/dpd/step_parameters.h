// SPDX-License-Identifier: BSD-3-Clause
// What an engine takes in each step: the settings with the coefficients, temperatures and body
// forces that a host program has set for this step, and the step's random numbers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine.h"
#include "settings.h"

namespace manymove::dpd {

class StepParameters {
 protected:
  explicit StepParameters(const Settings& settings) : settings_(settings) {
    const auto size = static_cast<std::size_t>(settings.pairs.types + 1);
    const PairCoefficients* pairs = settings.pairs.coefficients;
    tables_.push_back({0,
                       {pairs, pairs + size * size},
                       settings.bonds,
                       settings.angles,
                       settings.dihedrals,
                       settings.impropers});
    settings_.pairs.coefficients = tables_[0].pairs.data();
  }
  ~StepParameters() = default;

  // Coefficients in the order of their steps; the first ones are those of the settings and of the
  // present step.
  const std::vector<Coefficients>& tables() const { return tables_; }
  // The index of the coefficients for the forces of a step.
  std::size_t table_of(std::int64_t step) const {
    const auto later = std::upper_bound(
        tables_.begin() + 1, tables_.end(), step,
        [](std::int64_t at, const Coefficients& table) { return at < table.from; });
    return static_cast<std::size_t>(later - tables_.begin()) - 1;
  }
  // The settings with other coefficients, which must outlive them.
  Settings settings_with(const Coefficients& table) const {
    Settings settings = settings_;
    settings.pairs.coefficients = table.pairs.data();
    settings.bonds = table.bonds;
    settings.angles = table.angles;
    settings.dihedrals = table.dihedrals;
    settings.impropers = table.impropers;
    return settings;
  }
  std::vector<Settings> settings_of_tables() const {
    std::vector<Settings> all;
    for (const Coefficients& table : tables_) all.push_back(settings_with(table));
    return all;
  }
  // is_plain() for the coefficients of all steps.
  bool is_plain_with(bool specials, Extra extra = Extra::none) const {
    return std::all_of(tables_.begin(), tables_.end(), [&](const Coefficients& table) {
      return is_plain(settings_with(table), specials, extra);
    });
  }
  // The temperature that change k has as its target.
  double target_of(std::size_t k, std::int64_t step) const {
    const std::size_t changes = settings_.velocity_changes.size();
    const double* values = parameters_of_step(step);
    return values ? values[parameters_per_step() - changes + k]
                  : settings_.velocity_changes[k].temperature;
  }
  void set_clock(Clock clock) {
    step_ = clock.step;
    draws_ahead_ = clock.draw - static_cast<std::uint64_t>(clock.step);
  }
  std::uint64_t draw_of(std::int64_t step) const {
    return static_cast<std::uint64_t>(step) + draws_ahead_;
  }
  NoiseKey key_of(std::int64_t step) const { return noise_key(settings_.seed, draw_of(step)); }
  // What changes from step to step.
  template <Precision P>
  void set_noise(Forces<P>& forces, std::int64_t step) const {
    using Real = typename P::Real;
    forces.noise = key_of(step);
    // sigma^2 = 2 gamma k_B T (Eq. 9): at another temperature sigma has the factor sqrt(T / T_0).
    const NoiseRamp& ramp = settings_.pairs.ramp;
    forces.noise_scale = ramp.is_constant() ? Real(1) : static_cast<Real>(ramp.factor(step));
  }
  template <Precision P>
  void set_time(Motion<P>& motion, std::int64_t step) const {
    using Real = typename P::Real;
    const std::uint64_t draw = draw_of(step);
    motion.draw[0] = static_cast<std::uint32_t>(draw);
    motion.draw[1] = static_cast<std::uint32_t>(draw >> 32);
    const std::size_t thermostats = settings_.langevin_thermostats.size();
    // Temperatures of the thermostats, three components of each body force, four numbers of each
    // surface, then what changes of velocities have.
    const double* value = parameters_of_step(step);
    for (std::size_t k = 0; k < thermostats; ++k)
      motion.thermostat[k].root = square_root(
          static_cast<Real>(value ? value[k] : settings_.langevin_thermostats[k].temperature));
    for (std::size_t k = 0; k < settings_.body_forces.size(); ++k) {
      const double* force = value ? value + thermostats + 3 * k : settings_.body_forces[k].force;
      motion.body[k].force = vector_from<Real>(force);
      if constexpr (has_scalars<P>) motion.scalars.source[k] = force[0];
    }
    const std::size_t before = thermostats + 3 * settings_.body_forces.size();
    for (std::size_t k = 0; k < settings_.surfaces.size(); ++k) {
      const Surface& constant = settings_.surfaces[k];
      const double* const changed = value ? value + before + 4 * k : nullptr;
      place_surface(settings_.box, changed ? changed : constant.center,
                    changed ? changed[3] : constant.radius, motion.surface[k]);
    }
  }

  Settings settings_;
  std::int64_t step_ = 0;
  ParameterSeries series_;
  std::vector<Coefficients> tables_;

 private:
  std::size_t parameters_per_step() const {
    return settings_.langevin_thermostats.size() + 3 * settings_.body_forces.size() +
           4 * settings_.surfaces.size() + settings_.velocity_changes.size();
  }
  // What the series has for a step; null if it has nothing.
  const double* parameters_of_step(std::int64_t step) const {
    if (step < series_.first) return nullptr;
    const std::size_t at = static_cast<std::size_t>(step - series_.first) * parameters_per_step();
    return at < series_.values.size() ? series_.values.data() + at : nullptr;
  }

  std::uint64_t draws_ahead_ = 0;  // number of a draw minus its step, modulo 2^64
};

}  // namespace manymove::dpd
