// SPDX-License-Identifier: GPL-2.0-or-later
#include "translation/force_fixes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "domain.h"
#include "fix_addforce.h"
#include "fix_langevin.h"
#include "fix_setforce.h"
#include "fix_wall_reflect.h"
#include "modify.h"
#include "region.h"
#include "styles/fix_manymove_wall.h"
#include "translation/blocks.h"
#include "translation/integrators.h"
#include "translation/kept_atoms.h"
#include "translation/lammps_members.h"
#include "translation/probed_fixes.h"
#include "translation/thermostat_units.h"
#include "update.h"

using namespace LAMMPS_NS;

namespace LAMMPS_NS {

struct OfAddForce {
  friend constexpr auto members_of(OfAddForce);
};
template struct PrivateMembers<OfAddForce, &FixAddForce::xvalue, &FixAddForce::yvalue,
                               &FixAddForce::zvalue, &FixAddForce::varflag, &FixAddForce::xstr,
                               &FixAddForce::ystr, &FixAddForce::zstr, &FixAddForce::estr,
                               &FixAddForce::idregion, &FixAddForce::region>;

}  // namespace LAMMPS_NS

namespace {

constexpr std::uint32_t kLastFlag = 0x80;

struct OfSetForce : FixSetForce {
  using FixSetForce::idregion, FixSetForce::region, FixSetForce::varflag;
  using FixSetForce::xstr, FixSetForce::ystr, FixSetForce::zstr;
  using FixSetForce::xstyle, FixSetForce::ystyle, FixSetForce::zstyle;
  using FixSetForce::xvalue, FixSetForce::yvalue, FixSetForce::zvalue;
};

// FixAddForce::varflag and FixSetForce::varflag; other values vary between atoms.
constexpr int kConstant = 1, kEqual = 2;

struct OfWallReflect : FixWallReflect {
  using FixWallReflect::coord0, FixWallReflect::nwall, FixWallReflect::wallstyle,
      FixWallReflect::wallwhich;
};

// A template, because only some releases have gjfflag.
template <class Langevin>
struct OfLangevin : Langevin {
  using Langevin::ascale, Langevin::gfactor1, Langevin::gfactor2, Langevin::oflag, Langevin::ratio,
      Langevin::seed, Langevin::t_period, Langevin::t_start, Langevin::t_stop, Langevin::tallyflag,
      Langevin::tbiasflag, Langevin::tstr, Langevin::zeroflag;

  static bool is_gjf(const Langevin& fix) {
    if constexpr (requires { &OfLangevin::gjfflag; })
      return fix.*(&OfLangevin::gjfflag) != 0;
    else
      return false;
  }
};

}  // namespace

// ---- which fixes ----

bool ForceFixes::take(Fix* fix, Refusals& refusals) {
  const std::string style = fix->style;
  if (auto* wall = dynamic_cast<FixManymoveWall*>(fix)) {
    for (const auto& each : wall->walls())
      take_wall({fix, each.axis, each.high, wall->position_of(each)}, refusals);
    own_walls_.push_back(wall);
  } else if (is_nve(fix)) {
    const std::string why = Integrators(lmp).why_not_nve(fix);
    if (!why.empty()) refusals.add(name_of(fix) + why);
    take_nve(fix);
  } else if (style == "nve/limit") {
    take_limited_nve(fix, refusals);
  } else if (style == "addforce") {
    take_addforce(fix, refusals);
  } else if (style == "setforce") {
    take_setforce(fix, refusals);
  } else if (style == "langevin") {
    take_langevin(fix, refusals);
  } else if (style == "viscous") {
    take_viscous(fix, refusals);
  } else if (style == "move") {
    take_move(fix, refusals);
  } else if (style == "wall/reflect") {
    take_reflecting_walls(fix, refusals);
  } else if (sources_.take(fix, refusals)) {
    // Its group has a flag.
  } else if (surfaces_.take(fix, refusals)) {
    surface_fixes_.push_back({fix, body_forces_.size()});
  } else {
    return false;
  }
  if (!is_nve(fix)) flag_of(fix->groupbit);
  return true;
}

std::uint32_t ForceFixes::flag_of(int groupbit) {
  for (const auto& [bit, flag] : group_flags_)
    if (bit == groupbit) return flag;
  group_flags_.emplace_back(groupbit, manymove::dpd::kIntegrated << (group_flags_.size() + 1));
  return group_flags_.back().second;
}

void ForceFixes::take_nve(Fix* fix) { integrators_.push_back(fix); }

void ForceFixes::take_limited_nve(Fix* fix, Refusals& refusals) {
  double step = 0;
  const std::string why = Integrators(lmp).why_not_limited(fix, step);
  if (!why.empty()) return refusals.add(name_of(fix) + why);
  if (limiter_) return refusals.add("more than one fix nve/limit");
  limiter_ = fix;
  largest_step_ = step;
  take_nve(fix);
}

void ForceFixes::take_wall(const Wall& wall, Refusals& refusals) {
  if (wall.position < domain->boxlo[wall.axis] || wall.position > domain->boxhi[wall.axis])
    refusals.add(name_of(wall.fix) + " outside the box");
}

void ForceFixes::take_reflecting_walls(Fix* fix, Refusals& refusals) {
  const auto* walls = as_exactly<FixWallReflect>(fix);
  if (!walls) return refusals.add(name_of(fix));
  if (domain->triclinic) return refusals.add(name_of(fix) + " in a triclinic box");
  for (int k = 0; k < walls->*(&OfWallReflect::nwall); ++k) {
    if ((walls->*(&OfWallReflect::wallstyle))[k] == FixWallReflect::VARIABLE)
      return refusals.add(name_of(fix) + " with a variable");
    const int face = (walls->*(&OfWallReflect::wallwhich))[k];
    const Wall wall{fix, face / 2, face % 2 == 1, (walls->*(&OfWallReflect::coord0))[k]};
    take_wall(wall, refusals);
    walls_.push_back(wall);
  }
}

void ForceFixes::take_addforce(Fix* fix, Refusals& refusals) {
  const auto* added = as_exactly<FixAddForce>(fix);
  if (!added) return refusals.add(name_of(fix));
  const auto [x, y, z, kind, x_variable, y_variable, z_variable, energy_variable, region_id,
              region] = members_of(OfAddForce());
  BodyForce body{fix, {added->*x, added->*y, added->*z}, 0, added->*region, {-1, -1, -1}};
  if (added->*energy_variable || (added->*kind != kConstant && added->*kind != kEqual))
    return refusals.add(name_of(fix) + " with a variable by atom or of the energy");
  if (!take_variables({added->*x_variable, added->*y_variable, added->*z_variable}, body, refusals))
    return;
  if (fix->nevery != 1) return refusals.add(name_of(fix) + " with every");
  take_body_force(body, added->*region_id || added->*region, refusals);
}

void ForceFixes::take_setforce(Fix* fix, Refusals& refusals) {
  using Of = OfSetForce;
  const auto* set = as_exactly<FixSetForce>(fix);
  if (!set) return refusals.add(name_of(fix));
  const int kind = set->*(&Of::varflag);
  if (kind != kConstant && kind != kEqual)
    return refusals.add(name_of(fix) + " with a variable by atom");
  BodyForce body{fix, {0, 0, 0}, 0, set->*(&Of::region), {-1, -1, -1}};
  const int style[3] = {set->*(&Of::xstyle), set->*(&Of::ystyle), set->*(&Of::zstyle)};
  const double value[3] = {set->*(&Of::xvalue), set->*(&Of::yvalue), set->*(&Of::zvalue)};
  for (int a = 0; a < 3; ++a) {
    if (style[a] == 0) continue;  // NULL: this component stays
    body.replaced |= 1u << a;
    body.force[a] = value[a];
  }
  if (take_variables({set->*(&Of::xstr), set->*(&Of::ystr), set->*(&Of::zstr)}, body, refusals))
    take_body_force(body, set->*(&Of::idregion) || set->*(&Of::region), refusals);
}

// Returns whether all are functions of the step.
bool ForceFixes::take_variables(const std::array<const char*, 3>& name, BodyForce& body,
                                Refusals& refusals) const {
  for (int a = 0; a < 3; ++a) {
    if (!name[a]) continue;
    body.variable[a] = variables_.find(name[a]);
    if (body.variable[a] >= 0) continue;
    refusals.add(name_of(body.fix) + " with a variable that depends on more than the step");
    return false;
  }
  return true;
}

void ForceFixes::take_langevin(Fix* fix, Refusals& refusals) {
  using Of = OfLangevin<FixLangevin>;
  const auto* langevin = as_exactly<FixLangevin>(fix);
  if (!langevin) return refusals.add(name_of(fix));
  if (langevin->*(&Of::oflag) || langevin->*(&Of::ascale) != 0 || Of::is_gjf(*langevin))
    return refusals.add(name_of(fix) + " with angmom, omega or gjf");
  if (langevin->*(&Of::tallyflag)) return refusals.add(name_of(fix) + " with tally yes");
  if (langevin->*(&Of::zeroflag)) return refusals.add(name_of(fix) + " with zero yes");
  if (langevin->*(&Of::tbiasflag)) return refusals.add(name_of(fix) + " with a biased temperature");
  if (domain->dimension == 2) return refusals.add(name_of(fix) + " in two dimensions");
  const double* const ratio = langevin->*(&Of::ratio);
  Langevin thermostat{fix,
                      {langevin->*(&Of::t_start), langevin->*(&Of::t_stop)},
                      langevin->*(&Of::t_period),
                      {ratio, ratio + atom->ntypes + 1},
                      langevin->*(&Of::seed),
                      body_forces_.size()};
  if (const char* variable = langevin->*(&Of::tstr)) {
    thermostat.target.variable = variables_.find(variable);
    if (thermostat.target.variable < 0)
      return refusals.add(name_of(fix) + " with a variable that depends on more than the step");
  }
  for (int type = 1; !atom->rmass && type <= atom->ntypes; ++type) {
    const auto near = [](double a, double b) { return std::fabs(a - b) <= 1e-12 * std::fabs(b); };
    if (!near(-(langevin->*(&Of::gfactor1))[type],
              friction_of(thermostat, type, atom->mass[type])) ||
        !near((langevin->*(&Of::gfactor2))[type], noise_of(thermostat, type, atom->mass[type])))
      return refusals.add(name_of(fix) + " of another kind");
  }
  thermostats_.push_back(std::move(thermostat));
}

void ForceFixes::take_viscous(Fix* fix, Refusals& refusals) {
  std::vector<double> friction = friction_of_viscous(lmp, fix, refusals);
  if (friction.empty()) return refusals.add(name_of(fix) + " of another kind");
  viscous_.push_back({fix, std::move(friction), body_forces_.size()});
}

void ForceFixes::take_move(Fix* fix, Refusals& refusals) {
  std::vector<double> velocity = velocity_of_move(lmp, fix, refusals);
  if (velocity.empty())
    return refusals.add(name_of(fix) + " that is not linear along all three axes");
  if (domain->dimension == 2 && velocity[2] != 0)
    return refusals.add(name_of(fix) + " out of the plane");
  moves_.push_back({fix, std::move(velocity)});
  take_nve(fix);
}

void ForceFixes::take_body_force(const BodyForce& body, bool in_region, Refusals& refusals) {
  if (domain->dimension == 2 && (body.force[2] != 0 || body.variable[2] >= 0))
    return refusals.add(name_of(body.fix) + " out of the plane");
  if (in_region && !is_fixed_block(lmp, body.block))
    return refusals.add(name_of(body.fix) + " in a region that is not a fixed block");
  if (in_region && (domain->xy != 0 || domain->xz != 0 || domain->yz != 0))
    return refusals.add(name_of(body.fix) + " in a region of a tilted box");
  body_forces_.push_back(body);
}

// ---- whether they do what was read ----

// An atom is put where each of them acts; then all atoms are where they are.
void ForceFixes::check(Refusals& refusals) {
  check_integrated_once(refusals);
  for (const Langevin& thermostat : thermostats_)
    check_order(thermostat.fix, thermostat.replaced_before, refusals);
  for (const Viscous& viscous : viscous_)
    check_order(viscous.fix, viscous.replaced_before, refusals);
  for (const SurfaceFix& surface : surface_fixes_)
    check_order(surface.fix, surface.replaced_before, refusals);
  check_moves(refusals);
  if (!group_flags_.empty() && group_flags_.back().second > kLastFlag)
    refusals.add("more than seven groups in fixes");
  if (atom->nlocal == 0) return;
  evaluate();
  const auto acts_in_place = [&](const BodyForce& body) {
    const auto place = [&](double* x) {
      for (int a = 0; body.block && a < 3; ++a)
        x[a] = 0.5 * std::max(extent(body.block, a, false), domain->boxlo_bound[a]) +
               0.5 * std::min(extent(body.block, a, true), domain->boxhi_bound[a]);
    };
    return with_first_atom(atom, body.fix, place, [&] { return body_forces_act_as_read(); });
  };
  if (!std::ranges::all_of(body_forces_, acts_in_place) || !body_forces_act_as_read())
    refusals.add("fix addforce or setforce of another kind");
  if (refusals.empty()) surfaces_.check(refusals);
  if (refusals.empty()) sources_.check(refusals);
  for (const Wall& wall : walls_) {
    const auto place = [&](double* x) {
      const double across = 0.25 * domain->prd[wall.axis];
      x[wall.axis] = wall.position + (wall.high ? across : -across);
    };
    if (!with_first_atom(atom, wall.fix, place, [&] { return reflects_as_read(wall.fix); }))
      return refusals.add(name_of(wall.fix) + " of another kind");
  }
  // Last, because a thermostat draws random numbers, which an input script that is refused should
  // not miss.
  for (const Langevin& thermostat : thermostats_)
    if (refusals.empty() && !acts_as_read(thermostat))
      refusals.add(name_of(thermostat.fix) + " of another kind");
}

// Whether an atom of this rank is in the groups of both.
bool ForceFixes::share_atoms(const Fix* a, const Fix* b) const {
  return std::any_of(atom->mask, atom->mask + atom->nlocal,
                     [&](int mask) { return (mask & a->groupbit) && (mask & b->groupbit); });
}

// The engine adds the forces of thermostats, frictions and surfaces before all others.
// replaced_before: body forces that act before the fix.
void ForceFixes::check_order(const Fix* fix, std::size_t replaced_before,
                             Refusals& refusals) const {
  for (std::size_t k = 0; k < replaced_before; ++k)
    if (body_forces_[k].replaced && share_atoms(fix, body_forces_[k].fix))
      return refusals.add(name_of(fix) + " after fix setforce for the same atoms");
}

// LAMMPS moves these atoms regardless of walls; the engine would reflect them.
void ForceFixes::check_moves(Refusals& refusals) const {
  for (const Move& move : moves_) {
    const auto reflects = [&](const Fix* fix) { return share_atoms(move.fix, fix); };
    if (std::ranges::any_of(own_walls_, reflects) ||
        std::ranges::any_of(walls_, reflects, &Wall::fix))
      refusals.add(name_of(move.fix) + " with a wall for the same atoms");
  }
}

// Lets the fix act on atoms without forces: each feels its friction and no more noise than there
// can be.
bool ForceFixes::acts_as_read(const Langevin& thermostat) {
  const KeptAtoms kept(atom, {atom->f});
  kept.fill(atom->f, 0);
  thermostat.fix->post_force(0);
  const double root = std::sqrt(variables_.temperature(thermostat.fix, thermostat.target));
  for (int i = 0; i < atom->nlocal; ++i) {
    const int type = atom->type[i];
    const double mass = atom->rmass ? atom->rmass[i] : atom->mass[type];
    const bool acts = atom->mask[i] & thermostat.fix->groupbit;
    const double friction = acts ? friction_of(thermostat, type, mass) : 0,
                 most = acts ? 0.5 * noise_of(thermostat, type, mass) * root : 0;
    for (int a = 0; a < 3; ++a) {
      const double drag = -friction * atom->v[i][a];
      if (!(std::fabs(atom->f[i][a] - drag) <= most + 1e-9 * (most + std::fabs(drag))))
        return false;
    }
  }
  return true;
}

void ForceFixes::check_integrated_once(Refusals& refusals) const {
  if (integrators_.size() < 2) return;
  for (int i = 0; i < atom->nlocal; ++i) {
    int times = 0;
    for (const Fix* fix : integrators_) times += (atom->mask[i] & fix->groupbit) != 0;
    if (times > 1) return refusals.add("fix nve twice for the same atoms");
  }
}

// Lets the fixes act once more, and expects the same bits.
bool ForceFixes::body_forces_act_as_read() {
  const KeptAtoms kept(atom, {atom->f});
  std::vector<double> expected = kept.before(0);
  for (int i = 0; i < atom->nlocal; ++i)
    for (const BodyForce& body : body_forces_)
      for (int a = 0; acts_on(body, i) && a < 3; ++a) {
        double& force = expected[3 * i + a];
        force = body.replaced >> a & 1u ? body.force[a] : force + body.force[a];
      }
  for (const BodyForce& body : body_forces_) body.fix->post_force(0);
  for (int i = 0; i < atom->nlocal; ++i) {  // in two dimensions another fix has the third
    const std::size_t bytes = sizeof(double) * static_cast<unsigned>(domain->dimension);
    if (std::memcmp(&expected[3 * static_cast<std::size_t>(i)], atom->f[i], bytes) != 0)
      return false;
  }
  return true;
}

// Lets the fix reflect the atoms where they are, and expects the same bits.
bool ForceFixes::reflects_as_read(Fix* fix) {
  const KeptAtoms kept(atom, {atom->x, atom->v});
  std::vector<double> expected_x = kept.before(0), expected_v = kept.before(1);
  for (const Wall& wall : walls_) {
    if (wall.fix != fix) continue;
    for (int i = 0; i < atom->nlocal; ++i) {
      double& at = expected_x[3 * static_cast<std::size_t>(i) + wall.axis];
      if (!(atom->mask[i] & fix->groupbit) ||
          !(wall.high ? at > wall.position : at < wall.position))
        continue;
      at = wall.high ? wall.position - (at - wall.position) : wall.position + (wall.position - at);
      double& speed = expected_v[3 * static_cast<std::size_t>(i) + wall.axis];
      speed = -speed;
    }
  }
  fix->post_integrate();
  return kept.now(atom->x) == expected_x && kept.now(atom->v) == expected_v;
}

// ---- the description for the engine ----

void ForceFixes::describe(manymove::dpd::Settings& settings, const std::vector<int>& types) {
  for (FixManymoveWall* fix : own_walls_)
    for (const auto& wall : fix->walls())
      settings.walls.push_back(
          {wall.axis, wall.high, fix->position_of(wall), flag_of(fix->groupbit)});
  for (const Wall& wall : walls_)
    settings.walls.push_back({wall.axis, wall.high, wall.position, flag_of(wall.fix->groupbit)});
  for (const BodyForce& body : body_forces_) {
    manymove::dpd::BodyForce force{};
    std::copy_n(body.force, 3, force.force);
    force.replaced = body.replaced;
    force.in_block = body.block != nullptr;
    for (int a = 0; body.block && a < 3; ++a) {
      force.low[a] = extent(body.block, a, false);
      force.high[a] = extent(body.block, a, true);
    }
    force.flag = flag_of(body.fix->groupbit);
    settings.body_forces.push_back(force);
  }
  surfaces_.describe(settings, [this](int groupbit) { return flag_of(groupbit); });
  for (const Langevin& thermostat : thermostats_) {
    manymove::dpd::LangevinThermostat description{
        {0.0},
        {0.0},
        variables_.temperature(thermostat.fix, thermostat.target),
        static_cast<std::uint32_t>(thermostat.seed),
        flag_of(thermostat.fix->groupbit)};
    for (std::size_t k = 1; k < types.size(); ++k) {
      description.friction.push_back(friction_of(thermostat, types[k], settings.mass[k]));
      description.noise.push_back(noise_of(thermostat, types[k], settings.mass[k]));
    }
    settings.langevin_thermostats.push_back(std::move(description));
  }
  for (const Viscous& viscous : viscous_) {  // friction without noise
    manymove::dpd::LangevinThermostat description{
        {0.0}, std::vector<double>(types.size(), 0.0), 0, 0, flag_of(viscous.fix->groupbit)};
    for (std::size_t k = 1; k < types.size(); ++k)
      description.friction.push_back(viscous.friction[static_cast<std::size_t>(types[k])]);
    settings.langevin_thermostats.push_back(std::move(description));
  }
  for (const Move& move : moves_) {  // no force changes the velocity
    manymove::dpd::BodyForce force{};
    force.replaced = 7;
    force.flag = flag_of(move.fix->groupbit);
    settings.body_forces.push_back(force);
  }
  sources_.describe(settings, [this](int groupbit) { return flag_of(groupbit); });
  if (limiter_)
    settings.speed_limit = {largest_step_ / settings.time_step, flag_of(limiter_->groupbit)};
}

std::uint32_t ForceFixes::flags_of(int mask) const {
  std::uint32_t flags = 0;
  for (const Fix* fix : integrators_)
    if (mask & fix->groupbit) flags |= manymove::dpd::kIntegrated;
  for (const auto& [bit, flag] : group_flags_)
    if (mask & bit) flags |= flag;
  return flags;
}

// ---- what changes from step to step ----

bool ForceFixes::has_series() const {
  const auto varies = [](const BodyForce& body) {
    return std::ranges::any_of(body.variable, [](int index) { return index >= 0; });
  };
  const auto changes = [](const Langevin& thermostat) { return thermostat.target.varies(); };
  return std::ranges::any_of(body_forces_, varies) || std::ranges::any_of(thermostats_, changes) ||
         surfaces_.has_series();
}

void ForceFixes::evaluate() {
  for (BodyForce& body : body_forces_)
    for (int a = 0; a < 3; ++a)
      if (body.variable[a] >= 0) body.force[a] = variables_.value(body.variable[a]);
  surfaces_.evaluate();
}

void ForceFixes::add_to_series(std::vector<double>& values) {
  evaluate();
  for (const Langevin& thermostat : thermostats_)
    values.push_back(variables_.temperature(thermostat.fix, thermostat.target));
  values.insert(values.end(), viscous_.size(), 0.0);
  for (const BodyForce& body : body_forces_)
    values.insert(values.end(), body.force, body.force + 3);
  values.insert(values.end(), 3 * moves_.size(), 0.0);
  sources_.add_to_series(values);
  surfaces_.add_to_series(values);
}

bool ForceFixes::reflects(int mask) const {
  const auto acts = [mask](const Fix* fix) { return (mask & fix->groupbit) != 0; };
  return std::ranges::any_of(own_walls_, acts) || std::ranges::any_of(walls_, acts, &Wall::fix);
}

bool ForceFixes::is_moved(int mask) const {
  return std::ranges::any_of(moves_,
                             [mask](const Move& move) { return mask & move.fix->groupbit; });
}

void ForceFixes::prescribe(std::vector<double>& velocity) const {
  for (const Move& move : moves_)
    for (int i = 0; i < atom->nlocal; ++i)
      if (atom->mask[i] & move.fix->groupbit)
        std::ranges::copy(move.velocity, velocity.begin() + 3 * static_cast<std::ptrdiff_t>(i));
}

double ForceFixes::friction_of(const Langevin& thermostat, int type, double mass) const {
  return manymove::dpd::langevin_friction(
      thermostat_units_of(*force),
      {thermostat.period, thermostat.ratio[static_cast<std::size_t>(type)]}, mass);
}

double ForceFixes::noise_of(const Langevin& thermostat, int type, double mass) const {
  return manymove::dpd::langevin_noise(
      thermostat_units_of(*force),
      {thermostat.period, thermostat.ratio[static_cast<std::size_t>(type)]}, mass, update->dt);
}

bool ForceFixes::is_added_by_engine(const Fix* fix) const {
  return std::ranges::find(thermostats_, fix, &Langevin::fix) != thermostats_.end() ||
         std::ranges::find(viscous_, fix, &Viscous::fix) != viscous_.end() || sources_.has(fix);
}

void ForceFixes::add_on_host(int vflag) const {
  for (int k = 0; k < modify->nfix; ++k)
    if ((modify->fmask[k] & FixConst::POST_FORCE) && !is_added_by_engine(modify->fix[k]))
      modify->fix[k]->post_force(vflag);
}

bool ForceFixes::acts_on(const BodyForce& body, int i) const {
  const double* x = atom->x[i];
  return (atom->mask[i] & body.fix->groupbit) &&
         (!body.block || body.block->match(x[0], x[1], x[2]));
}

void ForceFixes::body_force(int i, double sum[3]) const {
  sum[0] = sum[1] = sum[2] = 0;
  surfaces_.add_force(i, sum);
  for (const BodyForce& body : body_forces_)
    for (int a = 0; acts_on(body, i) && a < 3; ++a)
      if (!(body.replaced >> a & 1u)) sum[a] += body.force[a];
}

bool ForceFixes::closes(int axis, bool high, bool surfaces_count) const {
  const auto closed_by = [&](const auto& wall, const Fix* fix) {
    return fix->igroup == 0 && wall.axis == axis && wall.high == high;
  };
  for (const FixManymoveWall* fix : own_walls_)
    for (const auto& wall : fix->walls())
      if (closed_by(wall, fix)) return true;
  return (surfaces_count && surfaces_.closes(axis, high)) ||
         std::ranges::any_of(walls_, [&](const Wall& wall) { return closed_by(wall, wall.fix); });
}
