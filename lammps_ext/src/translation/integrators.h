// SPDX-License-Identifier: GPL-2.0-or-later
// LAMMPS' fixes that integrate as an engine does.
#pragma once

#include <string>

#include "pointers.h"

namespace LAMMPS_NS {

class Fix;

// Fix nve, a variant of it with threads, or fix mvv/dpd, mvv/edpd or mvv/tdpd, which integrate in
// the same way with their parameter 1/2.
bool is_nve(const Fix* fix);
// Whether the fix integrates scalars of atoms, too.
bool integrates_scalars(const Fix* fix);

class Integrators : protected Pointers {
 public:
  explicit Integrators(class LAMMPS* lmp) : Pointers(lmp) {}

  // Why an engine cannot integrate like a fix for which is_nve() holds; empty if it can.
  std::string why_not_nve(Fix* fix) const;
  // The same for fix nve/limit, whose largest step is returned in `largest_step`.
  std::string why_not_limited(Fix* fix, double& largest_step) const;
};

}  // namespace LAMMPS_NS
