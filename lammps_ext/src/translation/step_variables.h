// SPDX-License-Identifier: GPL-2.0-or-later
// Equal-style variables whose values are functions of the time step alone, so that they can be
// evaluated before an engine makes the steps.
#pragma once

#include <set>
#include <string>

#include "pointers.h"

namespace LAMMPS_NS {

// The target of a thermostat: the value of a variable, or, for variable -1, on the way from `first`
// at the beginning of a run to `last` at its end.
struct TargetTemperature {
  double first = 0, last = 0;
  int variable = -1;
  bool varies() const { return variable >= 0 || first != last; }
};

class StepVariables : protected Pointers {
 public:
  explicit StepVariables(class LAMMPS* lmp) : Pointers(lmp) {}

  // The index of the variable with this name, or -1 if its value may depend on more than the step.
  int find(const std::string& name) const;
  // Whether the values of all equal-style variables are functions of the step alone.
  bool all_of_step() const;
  // The value in the present step, update->ntimestep.
  double value(int index) const;
  // The target of a thermostat, which is this fix, in the present step.
  double temperature(const class Fix* fix, const TargetTemperature& target) const;

 private:
  bool depends_on_step(const std::string& name, std::set<std::string>& above) const;
};

}  // namespace LAMMPS_NS
