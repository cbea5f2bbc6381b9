// SPDX-License-Identifier: GPL-2.0-or-later
#include "translation/velocity_fixes.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "atom.h"
#include "compute.h"
#include "fix.h"
#include "force.h"
#include "group.h"
#include "modify.h"
#include "translation/force_fixes.h"
#include "translation/layouts_of_fixes_api.h"
#include "translation/thermostat_units.h"
#include "update.h"

using namespace LAMMPS_NS;
using manymove::dpd::VelocityChange;

bool DeckVelocities::can_take(Fix* fix) {
  Change change{};
  return read(fix, change);
}

void DeckVelocities::take(Fix* fix, DeckForces& groups) {
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

// The fixes are read as restated classes, which UndefinedBehaviorSanitizer would report.
__attribute__((no_sanitize("vptr"))) bool DeckVelocities::read(Fix* fix, Change& change) const {
  change.change.every = std::max(fix->nevery, 1);
  if (is_class(fix, "N9LAMMPS_NS16FixTempBerendsenE")) {
    change.change.kind = VelocityChange::kRelax;
    change.change.rate = update->dt / static_cast<const FixTempBerendsenLayout*>(fix)->period;
    return read_thermostat<FixTempBerendsenLayout>(fix, change.thermostat);
  }
  if (is_class(fix, "N9LAMMPS_NS14FixTempRescaleE")) {
    const auto* read = static_cast<const FixTempRescaleLayout*>(fix);
    change.change.kind = VelocityChange::kRescale;
    change.change.rate = read->fraction;
    change.change.window = read->window;
    return read_thermostat<FixTempRescaleLayout>(fix, change.thermostat);
  }
  return is_class(fix, "N9LAMMPS_NS11FixMomentumE") && read_momentum(fix, change);
}

// The fix itself knows where its target and its energy are. The temperature has to be that of
// compute temp.
template <class Layout>
__attribute__((no_sanitize("vptr"))) bool DeckVelocities::read_thermostat(
    Fix* fix, Thermostat& thermostat) const {
  auto* read = static_cast<Layout*>(fix);
  int dimension;
  if (fix->extract("t_target", dimension) != &read->target ||
      fix->compute_scalar() != read->energy || !read->temperature_id)
    return false;
  thermostat = {read->first_temperature, read->last_temperature, -1,
                modify->get_compute_by_id(read->temperature_id), &read->energy};
  if (!thermostat.measured || std::strcmp(thermostat.measured->style, "temp") != 0) return false;
  thermostat.measured->setup();  // counts the degrees of freedom
  if (thermostat.measured->dof < 1) return false;
  if (!read->temperature_variable) return true;
  thermostat.variable = variables_.find(read->temperature_variable);
  return thermostat.variable >= 0;
}

__attribute__((no_sanitize("vptr"))) bool DeckVelocities::read_momentum(Fix* fix,
                                                                        Change& change) const {
  const auto* read = static_cast<const FixMomentumLayout*>(fix);
  if (!read->linear || read->angular || !(read->mass > 0)) return false;
  change.change.kind = VelocityChange::kStop;
  change.change.mass = read->mass;
  change.change.keeps_energy = read->rescales != 0;
  for (int a = 0; a < 3; ++a) change.change.axes |= read->axis[a] ? 1u << a : 0u;
  return stops_as_read(fix, change);
}

// Lets the fix act on the atoms, and compares their velocities.
bool DeckVelocities::stops_as_read(Fix* fix, const Change& change) const {
  const std::size_t values = 3 * static_cast<std::size_t>(atom->nlocal);
  double* const v = values > 0 ? atom->v[0] : nullptr;
  const std::vector<double> before(v, v + values);
  double center[3];
  group->vcm(fix->igroup, group->mass(fix->igroup), center);
  const double energy = group->ke(fix->igroup);
  const auto in_group = [&](std::size_t k) { return (atom->mask[k / 3] & fix->groupbit) != 0; };
  for (std::size_t k = 0; k < values; ++k)
    if (in_group(k) && (change.change.axes >> k % 3 & 1u)) v[k] -= center[k % 3];
  const double rest = group->ke(fix->igroup);
  const double scale = change.change.keeps_energy && rest > 0 ? std::sqrt(energy / rest) : 1;
  std::vector<double> expected(v, v + values);
  for (std::size_t k = 0; k < values; ++k)
    if (in_group(k)) expected[k] *= scale;
  std::copy(before.begin(), before.end(), v);
  fix->end_of_step();
  bool same = true;
  for (std::size_t k = 0; k < values; ++k)
    same = same && std::fabs(v[k] - expected[k]) <= 1e-9 * (std::fabs(v[k]) + std::fabs(before[k]));
  std::copy(before.begin(), before.end(), v);
  return same;
}

// ---- what the engine is told ----

void DeckVelocities::describe(manymove::dpd::Settings& settings) const {
  for (const Change& each : changes_) {
    VelocityChange change = each.change;
    if (each.thermostat.measured) {
      change.temperature_of_sum = manymove::dpd::temperature_of_sum(thermostat_units_of(*force),
                                                                    each.thermostat.measured->dof);
      change.temperature = variables_.temperature(each.fix, each.thermostat.variable,
                                                  each.thermostat.first, each.thermostat.last);
    }
    settings.velocity_changes.push_back(change);
  }
}

bool DeckVelocities::has_course() const {
  return std::any_of(changes_.begin(), changes_.end(), [](const Change& each) {
    return each.thermostat.variable >= 0 || each.thermostat.first != each.thermostat.last;
  });
}

void DeckVelocities::add_to_course(std::vector<double>& values) const {
  for (const Change& each : changes_)
    values.push_back(variables_.temperature(each.fix, each.thermostat.variable,
                                            each.thermostat.first, each.thermostat.last));
}

bool DeckVelocities::act_at(bigint step) const {
  return std::any_of(changes_.begin(), changes_.end(),
                     [step](const Change& each) { return step % each.change.every == 0; });
}

void DeckVelocities::count_drops(const std::vector<double>& drops) const {
  for (std::size_t k = 0; k < changes_.size(); ++k)
    if (const Compute* measured = changes_[k].thermostat.measured)
      *changes_[k].thermostat.energy += 0.5 * force->boltz * measured->dof * drops[k];
}
