// SPDX-License-Identifier: GPL-2.0-or-later
#include "translation/velocity_fixes.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "compute.h"
#include "fix_momentum.h"
#include "fix_temp_berendsen.h"
#include "fix_temp_rescale.h"
#include "force.h"
#include "group.h"
#include "modify.h"
#include "translation/force_fixes.h"
#include "translation/kept_atoms.h"
#include "translation/lammps_members.h"
#include "translation/thermostat_units.h"
#include "update.h"

using namespace LAMMPS_NS;
using manymove::dpd::VelocityChange;

namespace {

// Members of the two thermostats, which have the same names in both.
template <class Thermostat>
struct Of : Thermostat {
  using Thermostat::energy, Thermostat::id_temp, Thermostat::t_start, Thermostat::t_stop,
      Thermostat::t_target, Thermostat::tstr;
};

struct OfBerendsen : FixTempBerendsen {
  using FixTempBerendsen::t_period;
};

struct OfRescale : FixTempRescale {
  using FixTempRescale::fraction, FixTempRescale::t_window;
};

struct OfMomentum : FixMomentum {
  using FixMomentum::angular, FixMomentum::linear, FixMomentum::masstotal, FixMomentum::rescale,
      FixMomentum::xflag, FixMomentum::yflag, FixMomentum::zflag;
};

}  // namespace

bool VelocityFixes::can_take(Fix* fix) {
  Change change{};
  return read(fix, change);
}

void VelocityFixes::take(Fix* fix, ForceFixes& groups) {
  Change change{};
  read(fix, change);
  change.fix = fix;
  change.change.flag = groups.flag_of(fix->groupbit);
  if (const Compute* measured = change.thermostat.measured)
    change.change.measured = groups.flag_of(measured->groupbit);
  else
    change.change.measured = change.change.flag;
  changes_.push_back(change);
}

bool VelocityFixes::read(Fix* fix, Change& change) const {
  change.change.every = std::max(fix->nevery, 1);
  if (auto* relaxes = as_exactly<FixTempBerendsen>(fix)) {
    change.change.kind = VelocityChange::kRelax;
    change.change.rate = update->dt / relaxes->*(&OfBerendsen::t_period);
    return read_thermostat(relaxes, change.thermostat);
  }
  if (auto* rescales = as_exactly<FixTempRescale>(fix)) {
    change.change.kind = VelocityChange::kRescale;
    change.change.rate = rescales->*(&OfRescale::fraction);
    change.change.window = rescales->*(&OfRescale::t_window);
    return read_thermostat(rescales, change.thermostat);
  }
  auto* momentum = as_exactly<FixMomentum>(fix);
  return momentum && read_momentum(momentum, change);
}

// extract() and compute_scalar() return what is read. The temperature has to come from compute
// temp.
template <class Own>
bool VelocityFixes::read_thermostat(Own* fix, Thermostat& thermostat) const {
  int dimension;
  double* const energy = &(fix->*(&Of<Own>::energy));
  const char* const measured = fix->*(&Of<Own>::id_temp);
  if (fix->extract("t_target", dimension) != &(fix->*(&Of<Own>::t_target)) ||
      fix->compute_scalar() != *energy || !measured)
    return false;
  thermostat = {{fix->*(&Of<Own>::t_start), fix->*(&Of<Own>::t_stop)},
                modify->get_compute_by_id(measured),
                energy};
  if (!thermostat.measured || std::strcmp(thermostat.measured->style, "temp") != 0) return false;
  thermostat.measured->setup();  // counts the degrees of freedom
  if (thermostat.measured->dof < 1) return false;
  const char* const variable = fix->*(&Of<Own>::tstr);
  if (!variable) return true;
  thermostat.target.variable = variables_.find(variable);
  return thermostat.target.variable >= 0;
}

bool VelocityFixes::read_momentum(FixMomentum* fix, Change& change) const {
  const double mass = fix->*(&OfMomentum::masstotal);
  if (!(fix->*(&OfMomentum::linear)) || fix->*(&OfMomentum::angular) || !(mass > 0)) return false;
  change.change.kind = VelocityChange::kStop;
  change.change.mass = mass;
  change.change.keeps_energy = fix->*(&OfMomentum::rescale) != 0;
  int axis = 0;
  for (const auto flag : {&OfMomentum::xflag, &OfMomentum::yflag, &OfMomentum::zflag})
    change.change.axes |= (fix->*flag ? 1u : 0u) << axis++;
  return stops_as_read(fix, change);
}

// Lets the fix act on the atoms, and compares their velocities.
bool VelocityFixes::stops_as_read(Fix* fix, const Change& change) const {
  const KeptAtoms kept(atom, {atom->v});
  const std::vector<double>& before = kept.before(0);
  const std::size_t values = before.size();
  double* const v = values > 0 ? atom->v[0] : nullptr;
  double center[3];
  group->vcm(fix->igroup, group->mass(fix->igroup), center);
  const double energy = group->ke(fix->igroup);
  const auto in_group = [&](std::size_t k) { return (atom->mask[k / 3] & fix->groupbit) != 0; };
  for (std::size_t k = 0; k < values; ++k)
    if (in_group(k) && (change.change.axes >> k % 3 & 1u)) v[k] -= center[k % 3];
  const double rest = group->ke(fix->igroup);
  const double scale = change.change.keeps_energy && rest > 0 ? std::sqrt(energy / rest) : 1;
  std::vector<double> expected = kept.now(atom->v);
  for (std::size_t k = 0; k < values; ++k)
    if (in_group(k)) expected[k] *= scale;
  std::ranges::copy(before, v);
  fix->end_of_step();
  for (std::size_t k = 0; k < values; ++k)
    if (!(std::fabs(v[k] - expected[k]) <= 1e-9 * (std::fabs(v[k]) + std::fabs(before[k]))))
      return false;
  return true;
}

// ---- the description for the engine ----

bool VelocityFixes::recount_atoms() const {
  return std::ranges::any_of(changes_, [](const Change& each) {
    return each.thermostat.measured && recounts_atoms(each.thermostat.measured);
  });
}

void VelocityFixes::describe(manymove::dpd::Settings& settings) const {
  for (const Change& each : changes_) {
    VelocityChange change = each.change;
    if (each.thermostat.measured) {
      change.temperature_of_sum = manymove::dpd::temperature_of_sum(thermostat_units_of(*force),
                                                                    each.thermostat.measured->dof);
      change.temperature = variables_.temperature(each.fix, each.thermostat.target);
    }
    settings.velocity_changes.push_back(change);
  }
}

bool VelocityFixes::has_series() const {
  return std::ranges::any_of(changes_,
                             [](const Change& each) { return each.thermostat.target.varies(); });
}

void VelocityFixes::add_to_series(std::vector<double>& values) const {
  for (const Change& each : changes_)
    values.push_back(variables_.temperature(each.fix, each.thermostat.target));
}

bool VelocityFixes::act_at(bigint step) const {
  return std::ranges::any_of(changes_,
                             [step](const Change& each) { return step % each.change.every == 0; });
}

void VelocityFixes::count_drops(const std::vector<double>& drops) const {
  for (std::size_t k = 0; k < changes_.size(); ++k)
    if (const Compute* measured = changes_[k].thermostat.measured)
      *changes_[k].thermostat.energy += 0.5 * force->boltz * measured->dof * drops[k];
}
