// SPDX-License-Identifier: GPL-2.0-or-later
#include "translation/adapting_fixes.h"

#include <algorithm>

#include "fix.h"
#include "translation/step_variables.h"
#include "update.h"

using namespace LAMMPS_NS;

void AdaptingFixes::find_whether_known_ahead() {
  known_ahead_ = !fixes_.empty() && StepVariables(lmp).all_of_step();
}

bool AdaptingFixes::acts_at(bigint step) const {
  return std::ranges::any_of(
      fixes_, [step](const Fix* fix) { return fix->nevery > 0 && step % fix->nevery == 0; });
}

bigint AdaptingFixes::last_step_before(bigint now) const {
  bigint last = MAXBIGINT;
  if (known_ahead_) return last;
  for (const Fix* fix : fixes_) {
    const bigint every = fix->nevery;
    if (every > 0) last = std::min(last, ((now + 1) / every + 1) * every - 1);
  }
  return last;
}

void AdaptingFixes::act(int vflag) const {
  for (Fix* fix : fixes_) fix->pre_force(vflag);
}

// A fix acts in the steps that are multiples of nevery, and in the setup of a run. A run without a
// setup begins with the coefficients that the one before it left.
void AdaptingFixes::act_again(bigint step, bigint setup) const {
  if (!known_ahead_) return;
  const bigint now = update->ntimestep;
  for (Fix* fix : fixes_) {
    if (fix->nevery == 0) continue;
    update->ntimestep = std::max(step / fix->nevery * fix->nevery, setup);
    fix->setup_pre_force(0);
  }
  update->ntimestep = now;
}
