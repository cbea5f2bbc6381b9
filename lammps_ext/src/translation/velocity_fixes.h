// SPDX-License-Identifier: GPL-2.0-or-later
// Fixes that change velocities at the end of a step, as an engine has them: temp/berendsen,
// temp/rescale and momentum.
#pragma once

#include <vector>

#include "core/dpd/engine.h"
#include "pointers.h"
#include "translation/step_variables.h"

namespace LAMMPS_NS {

class Compute;
class ForceFixes;
class Fix;
class FixMomentum;

class VelocityFixes : protected Pointers {
 public:
  explicit VelocityFixes(class LAMMPS* lmp) : Pointers(lmp), variables_(lmp) {}

  // Whether an engine can do what the fix does. Collective; ranks may disagree.
  bool can_take(Fix* fix);
  void take(Fix* fix, ForceFixes& groups);

  // Whether a thermostat counts the atoms in each step.
  bool recount_atoms() const;
  void describe(manymove::dpd::Settings& settings) const;
  // Whether a temperature changes from step to step, and the temperatures of the present step.
  bool has_series() const;
  void add_to_series(std::vector<double>& values) const;
  // Whether velocities change at the end of a step.
  bool act_at(bigint step) const;
  // Counts the energy that thermostats took: temperatures were lowered by so much in all.
  void count_drops(const std::vector<double>& drops) const;

 private:
  struct Thermostat {
    TargetTemperature target;
    Compute* measured = nullptr;  // null where it is none
    double* energy = nullptr;     // that the fix has counted
  };
  struct Change {
    Fix* fix;
    manymove::dpd::VelocityChange change;
    Thermostat thermostat;
  };

  template <class Own>
  bool read_thermostat(Own* fix, Thermostat& thermostat) const;
  bool read(Fix* fix, Change& change) const;
  bool read_momentum(FixMomentum* fix, Change& change) const;
  bool stops_as_read(Fix* fix, const Change& change) const;

  const StepVariables variables_;
  std::vector<Change> changes_;
};

}  // namespace LAMMPS_NS
