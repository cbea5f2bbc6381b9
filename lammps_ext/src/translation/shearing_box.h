// SPDX-License-Identifier: GPL-2.0-or-later
// fix deform of the tilt xy at a constant rate, as an engine has it.
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
  double rate() const { return rate_; }    // 0 without shear

  void describe(manymove::dpd::Settings& settings) const;

  // Gives LAMMPS' box the shape that it has for the forces of a step. If this returns true, the box
  // was replaced, and LAMMPS has sent atoms to other ranks.
  bool set_before(bigint step) const;
  // Gives it the shape in which the fix leaves it at the end of the present step.
  void set_after_step() const;

 private:
  Fix* fix_ = nullptr;
  double rate_ = 0;
};

}  // namespace LAMMPS_NS
