// SPDX-License-Identifier: GPL-2.0-or-later
#include "translation/shearing_box.h"

#include <utility>

#include "atom.h"
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

// Only one tilt changes, at a constant rate in each step, and the velocities or the positions of
// all atoms are remapped. The fix has set the rate in the domain in its init() if it is constant,
// else at the end of each step; since 2026 it also sets the first one of `trate` in init().
bool ShearingBox::take(Fix* fix) {
  auto* deform = as_exactly<FixDeform>(fix);
  if (!deform || fix->nevery != 1 || !domain->deform_flag || fix->igroup != 0 ||
      deform->remapflag == Domain::NO_REMAP)
    return false;
  manymove::dpd::Shear shear;
  int in_lammps = 5;  // of xy, in the order of LAMMPS' arrays
  if (fix->box_change == Fix::BOX_CHANGE_XZ)
    in_lammps = 4, shear.gradient = 2;
  else if (fix->box_change == Fix::BOX_CHANGE_YZ)
    in_lammps = 3, shear.flow = 1, shear.gradient = 2;
  else if (fix->box_change != Fix::BOX_CHANGE_XY)
    return false;
  if (domain->h_rate[in_lammps] == 0 ||
      (deform->*(&OfDeform::set))[in_lammps].style == FixDeform::TRATE)
    return false;
  shear.rate = domain->h_rate[in_lammps] / domain->prd[shear.gradient];
  shear.has_flow = deform->remapflag == Domain::V_REMAP;
  fix_ = fix;
  shear_ = shear;
  return true;
}

double ShearingBox::tilt() const {
  const double tilts[3] = {domain->xy, domain->xz, domain->yz};
  return tilts[shear_.tilt()];
}

double ShearingBox::tilt_of_step() const {
  return shear_.rate * domain->prd[shear_.gradient] * update->dt;
}

double ShearingBox::periods_above(double tilt) const {
  return (this->tilt() - tilt) / domain->prd[shear_.flow];
}

double ShearingBox::periods_of_step() const { return tilt_of_step() / domain->prd[shear_.flow]; }

double ShearingBox::flow_at(const double x[3]) const {
  return shear_.rate * (x[shear_.gradient] - domain->boxlo[shear_.gradient]);
}

void ShearingBox::undo_step(double x[3]) const { x[shear_.flow] -= flow_at(x) * update->dt; }

void ShearingBox::describe(manymove::dpd::Settings& settings) const {
  if (!fix_) return;
  // Forces of a step are those in the box that the fix left at the end of the step before.
  settings.shear = shear_;
  settings.shear.begin = update->ntimestep;
  settings.box.tilt[shear_.tilt()] -= tilt_of_step();
}

// A box that is tilted too far is replaced by an equivalent one at the beginning of the next step.
// The fix then would give images to LAMMPS' atoms and send them to other ranks. They have their
// places of an earlier step, and stay: positions and images come from the device.
void ShearingBox::set_before(bigint step) const {
  if (!fix_) return;
  const bigint now = std::exchange(update->ntimestep, step - 1);
  fix_->end_of_step();
  const int atoms = std::exchange(atom->nlocal, 0);
  fix_->pre_exchange();
  atom->nlocal = atoms;
  if (atom->map_style != Atom::MAP_NONE) atom->map_set();
  update->ntimestep = now;
}

void ShearingBox::set_after_step() const {
  if (fix_) fix_->end_of_step();
}
