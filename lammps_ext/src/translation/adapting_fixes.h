// SPDX-License-Identifier: GPL-2.0-or-later
// Fixes that change coefficients before the forces of some steps are computed (fix adapt).
#pragma once

#include <vector>

#include "pointers.h"

namespace LAMMPS_NS {

class Fix;

class AdaptingFixes : protected Pointers {
 public:
  explicit AdaptingFixes(class LAMMPS* lmp) : Pointers(lmp) {}

  void add(Fix* fix) { fixes_.push_back(fix); }
  // To be called when all have been added: whether their values are known before an engine makes
  // the steps, because all variables are functions of the step.
  void find_whether_known_ahead();

  bool any() const { return !fixes_.empty(); }
  bool known_ahead() const { return known_ahead_; }
  bool acts_at(bigint step) const;
  // Whether the host has to stop before the step, because variables may depend on the particles.
  bool stops_at(bigint step) const { return !known_ahead_ && acts_at(step); }
  // The last step from now + 1 on that is followed by a step of these fixes.
  bigint last_step_before(bigint now) const;

  // Their action in the present step.
  void act(int vflag) const;
  // If their values are known ahead, the coefficients of the host may belong to a later step:
  // replaces them by those of this step. The last setup was in step `setup`.
  void act_again(bigint step, bigint setup) const;

 private:
  std::vector<Fix*> fixes_;
  bool known_ahead_ = false;
};

}  // namespace LAMMPS_NS
