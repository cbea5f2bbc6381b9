// SPDX-License-Identifier: GPL-2.0-or-later
// The units of the input script, as the engine's thermostats take them.
#pragma once

#include "core/dpd/thermostats.h"
#include "force.h"

namespace LAMMPS_NS {

inline manymove::dpd::ThermostatUnits thermostat_units_of(const Force& force) {
  return {force.boltz, force.ftm2v, force.mvv2e};
}

}  // namespace LAMMPS_NS
