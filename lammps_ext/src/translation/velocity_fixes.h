// SPDX-License-Identifier: GPL-2.0-or-later
// Fixes that change velocities at the end of a step, as an engine has them: temp/berendsen,
// temp/rescale and momentum. Their private members are read as the classes of
// layouts_of_fixes_api.h.
#pragma once

#include <cstdint>
#include <vector>

#include "core/dpd/engine.h"
#include "lmptype.h"
#include "pointers.h"
#include "translation/step_variables.h"

namespace LAMMPS_NS {

class Compute;
class DeckForces;
class Fix;

class DeckVelocities : protected Pointers {
 public:
  explicit DeckVelocities(class LAMMPS* lmp) : Pointers(lmp), variables_(lmp) {}

  // Whether an engine can do what the fix does. Collective; ranks may disagree.
  bool can_take(Fix* fix);
  void take(Fix* fix, DeckForces& groups);

  void describe(manymove::dpd::Settings& settings) const;
  // Whether a temperature changes from step to step, and the temperatures of the present step.
  bool has_course() const;
  void add_to_course(std::vector<double>& values) const;
  // Whether velocities change at the end of a step.
  bool act_at(bigint step) const;
  // Counts the energy that thermostats took: temperatures were lowered by so much in all.
  void count_drops(const std::vector<double>& drops) const;

 private:
  struct Thermostat {
    double first, last;  // temperatures of the run's ends
    int variable;        // of the temperature; -1: there is none
    Compute* measured;
    double* energy;  // that the fix has counted
  };
  struct Change {
    Fix* fix;
    manymove::dpd::VelocityChange change;
    Thermostat thermostat{0, 0, -1, nullptr, nullptr};  // measured is null where it is none
  };

  template <class Layout>
  __attribute__((no_sanitize("vptr"))) bool read_thermostat(Fix* fix, Thermostat& thermostat) const;
  bool read(Fix* fix, Change& change) const;
  bool read_momentum(Fix* fix, Change& change) const;
  bool stops_as_read(Fix* fix, const Change& change) const;

  const DeckVariables variables_;
  std::vector<Change> changes_;
};

}  // namespace LAMMPS_NS
