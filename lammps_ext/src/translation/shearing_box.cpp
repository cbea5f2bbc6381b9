// SPDX-License-Identifier: GPL-2.0-or-later
#include "translation/shearing_box.h"

#include <utility>

#include "domain.h"
#include "fix_deform.h"
#include "translation/lammps_members.h"
#include "update.h"

using namespace LAMMPS_NS;

namespace {

struct OfDeform : FixDeform {
  using FixDeform::set;
};

}  // namespace

// Only the tilt xy changes, at a constant rate in each step, and velocities of all atoms are
// remapped. The fix has set the rate in the domain in its init() if it is constant, else at the end
// of each step; since 2026 it also sets the first one of `trate` in init().
bool ShearingBox::take(Fix* fix) {
  auto* deform = as_exactly<FixDeform>(fix);
  if (!deform || fix->nevery != 1 || fix->box_change != Fix::BOX_CHANGE_XY ||
      !domain->deform_flag || !domain->deform_vremap || domain->deform_groupbit != 1 ||
      domain->h_rate[5] == 0 || (deform->*(&OfDeform::set))[5].style == FixDeform::TRATE)
    return false;
  fix_ = fix;
  rate_ = domain->h_rate[5] / domain->prd[1];
  return true;
}

void ShearingBox::describe(manymove::dpd::Settings& settings) const {
  if (!fix_) return;
  // Forces of a step are those in the box that the fix left at the end of the step before.
  settings.shear = {rate_, update->ntimestep};
  settings.box.tilt[0] -= rate_ * settings.box.extent[1] * update->dt;
}

// A box that is tilted too far is replaced by an equivalent one, with the atoms' images, at the
// beginning of the next step.
bool ShearingBox::set_before(bigint step) const {
  if (!fix_) return false;
  const bigint now = std::exchange(update->ntimestep, step - 1);
  fix_->end_of_step();
  const double tilt = domain->xy;
  fix_->pre_exchange();
  update->ntimestep = now;
  return domain->xy != tilt;
}

void ShearingBox::set_after_step() const {
  if (fix_) fix_->end_of_step();
}
