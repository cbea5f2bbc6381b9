// SPDX-License-Identifier: GPL-2.0-or-later
// fix deform of one tilt at a constant rate, as an engine has it.
#pragma once

#include "core/dpd/engine.h"
#include "pointers.h"

namespace LAMMPS_NS {

class Fix;

class ShearingBox : protected Pointers {
 public:
  explicit ShearingBox(class LAMMPS* lmp) : Pointers(lmp) {}

  // Takes the fix if it shears the box so, and returns whether it does.
  bool take(Fix* fix);
  const Fix* fix() const { return fix_; }  // null without shear
  // Its rate is 0 without shear. It begins at the present step.
  const manymove::dpd::Shear& shear() const { return shear_; }
  // Whether velocities are relative to a flow, and the flow at a place, along shear().flow.
  bool has_flow() const { return fix_ && shear_.has_flow; }
  double flow_at(const double x[3]) const;
  // By how many lengths of the box along the flow its tilt exceeds this one, and by how many it
  // grows in a step.
  double periods_above(double tilt) const;
  double periods_of_step() const;
  // The place that an atom had before the fix carried it to that of the present step.
  void undo_step(double x[3]) const;

  void describe(manymove::dpd::Settings& settings) const;

  // Gives LAMMPS' box the shape that it has for the forces of a step.
  void set_before(bigint step) const;
  // Gives it the shape in which the fix leaves it at the end of the present step.
  void set_after_step() const;

 private:
  double tilt() const;
  double tilt_of_step() const;

  Fix* fix_ = nullptr;
  manymove::dpd::Shear shear_;
};

}  // namespace LAMMPS_NS
