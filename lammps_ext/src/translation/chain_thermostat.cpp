// SPDX-License-Identifier: GPL-2.0-or-later
#include "translation/chain_thermostat.h"

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "compute.h"
#include "core/dpd/nose_hoover.h"
#include "core/dpd/velocity_changes.h"
#include "fix_nvt_sllod.h"
#include "force.h"
#include "modify.h"
#include "translation/kept_atoms.h"
#include "translation/lammps_members.h"
#include "translation/style_values.h"
#include "translation/thermostat_units.h"
#include "update.h"

using namespace LAMMPS_NS;
using namespace manymove::dpd;

// Releases since 11 Feb 2026 have two integrators, and store whether the next run adds the flow to
// the velocities ("kick"). A run has done so before a device takes the particles.
#if MANYMOVE_LAMMPS_VERSION >= 20260211
#define MANYMOVE_TWO_SLLOD_INTEGRATORS
namespace LAMMPS_NS {
struct OfSllod {
  friend constexpr auto members_of(OfSllod);
};
template struct PrivateMembers<OfSllod, &FixNVTSllod::integrator, FixNVTSllod::LEGACY>;
}  // namespace LAMMPS_NS
#endif

namespace {

struct OfNH : FixNH {
  using FixNH::ke_target, FixNH::t_current, FixNH::t_freq, FixNH::t_target;
};

// Length of the chain; 0 if the fix has none, or does not return its state.
int chain_of(Fix* fix) {
  int dimension;
  const auto* chain = static_cast<int*>(fix->extract("mtchain", dimension));
  return chain && *chain > 0 && fix->vector_flag && fix->size_vector / 2 >= *chain ? *chain : 0;
}

// What the fix writes to a restart file after the number of bytes; empty if that is another one.
std::vector<double> stored(Fix* fix) {
  RestartBytes written([fix](std::FILE* file) { fix->write_restart(file); });
  const int announced = written.next<int>(1)[0];
  if (announced != written.left() || announced % sizeof(double) != 0) return {};
  return written.next<double>(announced / sizeof(double));
}

// The layout of restart files: no kick of nvt/sllod, there is a thermostat, its chain, and there is
// no barostat.
std::vector<double> in_file([[maybe_unused]] const FixNH* fix, const NoseHooverState& state) {
  std::vector<double> file{1, static_cast<double>(state.position.size())};
#if defined(MANYMOVE_TWO_SLLOD_INTEGRATORS)
  if (ChainThermostat::is_sllod(fix)) file.insert(file.begin(), 0);
#endif
  file.insert(file.end(), state.position.begin(), state.position.end());
  file.insert(file.end(), state.velocity.begin(), state.velocity.end());
  file.push_back(0);
  return file;
}

NoseHooverState state_of(Fix* fix, int chain) {
  NoseHooverState state;
  for (int k = 0; k < chain; ++k) state.position.push_back(fix->compute_vector(k));
  for (int k = 0; k < chain; ++k) state.velocity.push_back(fix->compute_vector(chain + k));
  return state;
}

}  // namespace

FixNH* ChainThermostat::of(Fix* fix) {
  if (fix->igroup != 0) return nullptr;
  if (auto* sllod = as_exactly<FixNVTSllod>(fix)) return sllod;
  return std::string(fix->style) == "nvt" ? static_cast<FixNH*>(fix) : nullptr;
}

bool ChainThermostat::is_sllod(const FixNH* fix) { return std::string(fix->style) != "nvt"; }

bool ChainThermostat::is_reversible([[maybe_unused]] FixNH* fix) {
#if defined(MANYMOVE_TWO_SLLOD_INTEGRATORS)
  const auto [integrator, legacy] = members_of(OfSllod());
  return is_sllod(fix) && static_cast<FixNVTSllod*>(fix)->*integrator != legacy;
#else
  return false;
#endif
}

bool ChainThermostat::has_known_layout(FixNH* fix) {
  const int chain = chain_of(fix);
  return chain > 0 && stored(fix) == in_file(fix, state_of(fix, chain));
}

bool ChainThermostat::take(FixNH* fix, const ShearingBox& shearing) {
  fix_ = fix;
  int dimension;
  if (fix->extract("t_target", dimension) == &(fix->*(&OfNH::t_target))) {
    // A run without a setup continues with the temperature that the last one left.
    const double measured = fix->*(&OfNH::t_current);
    const bool taken = read() && acts_as_read(shearing);
    fix->*(&OfNH::t_current) = measured;
    if (taken) return true;
  }
  fix_ = nullptr;
  return false;
}

bool ChainThermostat::read() {
  int dimension;
  const auto* first = static_cast<double*>(fix_->extract("t_start", dimension));
  const auto* last = static_cast<double*>(fix_->extract("t_stop", dimension));
  const int chain = chain_of(fix_);
  Compute* measured = modify->get_compute_by_id(std::string(fix_->id) + "_temp");
  if (!first || !last || chain < 1 || !measured || *first != *last ||
      std::string(measured->style) != (is_sllod(fix_) ? "temp/deform" : "temp"))
    return false;
  measured->setup();  // counts the degrees of freedom
  if (measured->dof < 1) return false;
  fix_->setup(0);
  const double target = fix_->*(&OfNH::t_target), rate = fix_->*(&OfNH::t_freq);
  if (target != *first || fix_->*(&OfNH::t_current) != measured->scalar || !(rate > 0) ||
      !are_near(fix_->*(&OfNH::ke_target), measured->dof * force->boltz * target, 1e-12))
    return false;
  settings_.chain = chain;
  settings_.damping_time = 1 / rate;
  settings_.temperature = target;
  settings_.boltzmann = force->boltz;
  settings_.degrees_of_freedom = measured->dof;
  settings_.temperature_of_sum = temperature_of_sum(thermostat_units_of(*force), measured->dof);
  return true;
}

NoseHooverState ChainThermostat::state() const {
  NoseHooverState state = state_of(fix_, settings_.chain);
  state.temperature = fix_->*(&OfNH::t_current);
  return state;
}

void ChainThermostat::set_state(const NoseHooverState& state) const {
  std::vector<double> file = in_file(fix_, state);
  fix_->restart(reinterpret_cast<char*>(file.data()));
  fix_->*(&OfNH::t_current) = state.temperature;
}

void ChainThermostat::undo_half_step(double factor, const ShearingBox& shearing, const double x[3],
                                     double v[3]) const {
  const manymove::dpd::Shear& shear = shearing.shear();
  const double flow = shearing.has_flow() ? shearing.flow_at(x) : 0;
  v[shear.flow] -= flow;
  const VelocityMap map = sllod_half_step(factor, update->dt, shear);
  Vector<double> u{v[0] / factor, v[1] / factor, v[2] / factor};
  // One rate is not 0, so that the velocity along the gradient has only been scaled.
  map.slope.times(-1 / factor).add_at(Vector<double>(u), u);
  v[0] = u.x, v[1] = u.y, v[2] = u.z;
  v[shear.flow] += flow;
}

void ChainThermostat::set_up() const {
  if (fix_) fix_->setup(0);
}

// Lets the fix make the first half of a step on the atoms, without forces.
bool ChainThermostat::acts_as_read(const ShearingBox& shearing) const {
  const NoseHooverState before = state();
  const bool same = half_step_acts_as_read(before, shearing);
  set_state(before);
  fix_->setup(0);
  const NoseHooverState again = state();
  return same && again.position == before.position && again.velocity == before.velocity;
}

bool ChainThermostat::half_step_acts_as_read(const NoseHooverState& before,
                                             const ShearingBox& shearing) const {
  const KeptAtoms kept(atom, {atom->x, atom->v, atom->f});
  const std::vector<double>&x = kept.before(0), &v = kept.before(1);
  kept.fill(atom->f, 0);
  manymove::dpd::NoseHooverChain chain(settings_, update->dt);
  chain.start(before);
  const double factor = chain.half_step();
  fix_->initial_integrate(0);
  if (!chain.agrees_with(state())) return false;
  const int along = shearing.shear().flow;
  const VelocityMap map = sllod_half_step(factor, update->dt, shearing.shear());
  for (std::size_t k = 0; k < v.size(); k += 3) {
    const double flow = shearing.has_flow() ? shearing.flow_at(&x[k]) : 0;
    double expected[3] = {v[k], v[k + 1], v[k + 2]};
    expected[along] -= flow;
    map.act_on(expected[0], expected[1], expected[2]);
    expected[along] += flow;
    for (std::size_t a = 0; a < 3; ++a)
      if (!(std::fabs(atom->v[0][k + a] - expected[a]) <=
            1e-9 * (1e-3 + std::fabs(v[k + along]) + std::fabs(v[k + a]) + std::fabs(flow))))
        return false;
  }
  return true;
}
