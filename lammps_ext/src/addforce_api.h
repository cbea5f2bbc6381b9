// SPDX-License-Identifier: GPL-2.0-only
// The private part of LAMMPS' fix addforce, in the order of the release of 22 Jul 2025. Nobody may
// believe it without trying what the fix does (DeckTranslation::body_forces_act_as_read).
#pragma once

#include "fix.h"

namespace LAMMPS_NS {

class FixAddForceLayout : public Fix {
 public:
  static constexpr int kConstant = 1;  // kind_of_force; others are variables

  double force[3];
  int kind_of_force;
  char *x_variable, *y_variable, *z_variable, *energy_variable;
  char* region_id;
  class Region* region;
};

}  // namespace LAMMPS_NS
