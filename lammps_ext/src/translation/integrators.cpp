// SPDX-License-Identifier: GPL-2.0-or-later
#include "translation/integrators.h"

#include "fix.h"
#include "fix_mvv_dpd.h"
#include "fix_nve_limit.h"
#include "force.h"
#include "translation/lammps_members.h"
#include "update.h"

using namespace LAMMPS_NS;

namespace {

struct OfNVELimit : FixNVELimit {
  using FixNVELimit::dtf, FixNVELimit::dtv, FixNVELimit::vlimitsq, FixNVELimit::xlimit;
};
struct OfMvvDPD : FixMvvDPD {
  using FixMvvDPD::dtf, FixMvvDPD::dtv, FixMvvDPD::verlet;
};

bool is_modified(const Fix* fix) {
  const std::string style = fix->style;
  return style == "mvv/dpd" || style == "mvv/edpd" || style == "mvv/tdpd";
}

}  // namespace

// The variants of the OPENMP package differ only by their threads.
bool LAMMPS_NS::is_nve(const Fix* fix) {
  const std::string style = fix->style;
  return style == "nve" || style == "nve/omp" || is_modified(fix);
}

bool LAMMPS_NS::integrates_scalars(const Fix* fix) {
  return is_modified(fix) && std::string(fix->style) != "mvv/dpd";
}

std::string Integrators::why_not_nve(Fix* fix) const {
  if (!is_modified(fix)) return "";
  // as_exactly() would need the class, whose package is not a part of every LAMMPS. Therefore the
  // values of its members are checked. FixMvvEDPD and FixMvvTDPD begin with the same ones.
  const auto* modified = static_cast<const FixMvvDPD*>(fix);
  if (modified->*(&OfMvvDPD::dtv) != update->dt ||
      modified->*(&OfMvvDPD::dtf) != 0.5 * update->dt * force->ftm2v)
    return " of another kind";
  return modified->*(&OfMvvDPD::verlet) == 0.5 ? "" : " with another parameter than 0.5";
}

std::string Integrators::why_not_limited(Fix* fix, double& largest_step) const {
  const auto* limited = as_exactly<FixNVELimit>(fix);
  if (!limited) return " of another class";
  largest_step = limited->*(&OfNVELimit::xlimit);
  const double speed = largest_step / update->dt;
  if (limited->*(&OfNVELimit::dtv) != update->dt ||
      limited->*(&OfNVELimit::dtf) != 0.5 * update->dt * force->ftm2v ||
      limited->*(&OfNVELimit::vlimitsq) != speed * speed)
    return " of another kind";
  return "";
}
