// SPDX-License-Identifier: BSD-3-Clause
// From what an input script says of a thermostat to the coefficients of the engine.
#pragma once

#include <cmath>

namespace manymove::dpd {

// k_B, acceleration per force over mass, and energy per m v^2: LAMMPS' boltz, ftm2v and mvv2e.
struct ThermostatUnits {
  double boltzmann, force_to_acceleration, square_to_energy;
};

// The temperature is this times the sum of m v^2, because N_f k_B T / 2 is the kinetic energy.
inline double temperature_of_sum(const ThermostatUnits& units, double degrees_of_freedom) {
  return units.square_to_energy / (degrees_of_freedom * units.boltzmann);
}

// A Langevin thermostat for particles of a mass: the friction is m / tau, with the damping time tau
// times a ratio of the type. Its noise multiplies sqrt(T) (u - 1/2), where u - 1/2 has the variance
// 1/12, and 24 k_B m / (tau dt) / 12 is what fluctuation and dissipation need:
// 2 k_B T friction / dt.
struct LangevinDamping {
  double time, ratio;
};
inline double langevin_friction(const ThermostatUnits& units, const LangevinDamping& damping,
                                double mass) {
  return mass / damping.time / units.force_to_acceleration / damping.ratio;
}
inline double langevin_noise(const ThermostatUnits& units, const LangevinDamping& damping,
                             double mass, double time_step) {
  return std::sqrt(24.0 * units.boltzmann / damping.time / time_step / units.square_to_energy *
                   mass / damping.ratio) /
         units.force_to_acceleration;
}

}  // namespace manymove::dpd
