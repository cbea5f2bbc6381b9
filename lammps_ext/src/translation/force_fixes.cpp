// SPDX-License-Identifier: GPL-2.0-or-later
#include "translation/force_fixes.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "atom.h"
#include "domain.h"
#include "error.h"
#include "fix.h"
#include "force.h"
#include "modify.h"
#include "region.h"
#include "styles/fix_manymove_wall.h"
#include "translation/layouts_of_fixes_api.h"
#include "translation/thermostat_units.h"
#include "update.h"

using namespace LAMMPS_NS;

namespace {

constexpr std::uint32_t kLastFlag = 0x80;

double extent(const Region* region, int axis, bool high) {
  const double extents[3][2] = {{region->extent_xlo, region->extent_xhi},
                                {region->extent_ylo, region->extent_yhi},
                                {region->extent_zlo, region->extent_zhi}};
  return extents[axis][high];
}

// The variants of the OPENMP package differ only by their threads.
bool is_nve(const Fix* fix) {
  const std::string style = fix->style;
  return style == "nve" || style == "nve/omp";
}

std::string name_of(const Fix* fix) { return std::string("fix ") + fix->id + " " + fix->style; }

}  // namespace

// ---- which fixes ----

bool DeckForces::take(Fix* fix, std::vector<std::string>& refused) {
  const std::string style = fix->style;
  if (auto* wall = dynamic_cast<FixManymoveWall*>(fix)) {
    for (const auto& each : wall->walls())
      take_wall({fix, each.axis, each.high, wall->position_of(each)}, refused);
    own_walls_.push_back(wall);
  } else if (is_nve(fix)) {
    take_nve(fix);
  } else if (style == "nve/limit") {
    take_limited_nve(fix, refused);
  } else if (style == "addforce") {
    take_addforce(fix, refused);
  } else if (style == "setforce") {
    take_setforce(fix, refused);
  } else if (style == "langevin") {
    take_langevin(fix, refused);
  } else if (style == "wall/reflect") {
    take_reflecting_walls(fix, refused);
  } else {
    return false;
  }
  if (!is_nve(fix)) flag_of(fix->groupbit);
  return true;
}

std::uint32_t DeckForces::flag_of(int groupbit) {
  for (const auto& [bit, flag] : group_flags_)
    if (bit == groupbit) return flag;
  group_flags_.emplace_back(groupbit, manymove::dpd::kIntegrated << (group_flags_.size() + 1));
  return group_flags_.back().second;
}

void DeckForces::take_nve(Fix* fix) { integrators_.push_back(fix); }

// The fixes are read as restated classes, which UndefinedBehaviorSanitizer would report.
__attribute__((no_sanitize("vptr"))) void DeckForces::take_limited_nve(
    Fix* fix, std::vector<std::string>& refused) {
  if (!is_class(fix, "N9LAMMPS_NS11FixNVELimitE")) return refused.push_back(name_of(fix));
  const auto* read = static_cast<const FixNVELimitLayout*>(fix);
  const double speed = read->largest_step / update->dt;
  if (read->step != update->dt || read->half_kick != 0.5 * update->dt * force->ftm2v ||
      read->largest_speed_squared != speed * speed)
    return refused.push_back(name_of(fix) + " of another kind");
  if (limiter_) return refused.push_back("more than one fix nve/limit");
  limiter_ = fix;
  largest_step_ = read->largest_step;
  take_nve(fix);
}

void DeckForces::take_wall(const Wall& wall, std::vector<std::string>& refused) {
  if (wall.position < domain->boxlo[wall.axis] || wall.position > domain->boxhi[wall.axis])
    refused.push_back(name_of(wall.fix) + " outside the box");
}

__attribute__((no_sanitize("vptr"))) void DeckForces::take_reflecting_walls(
    Fix* fix, std::vector<std::string>& refused) {
  if (!is_class(fix, "N9LAMMPS_NS14FixWallReflectE")) return refused.push_back(name_of(fix));
  const auto* read = static_cast<const FixWallReflectLayout*>(fix);
  if (domain->triclinic) return refused.push_back(name_of(fix) + " in a triclinic box");
  for (int k = 0; k < read->walls; ++k) {
    if (read->style[k] == FixWallReflectLayout::kVariable)
      return refused.push_back(name_of(fix) + " with a variable");
    const Wall wall{fix, read->face[k] / 2, read->face[k] % 2 == 1, read->position[k]};
    take_wall(wall, refused);
    walls_.push_back(wall);
  }
}

__attribute__((no_sanitize("vptr"))) void DeckForces::take_addforce(
    Fix* fix, std::vector<std::string>& refused) {
  if (!is_class(fix, "N9LAMMPS_NS11FixAddForceE")) return refused.push_back(name_of(fix));
  const auto* read = static_cast<const FixAddForceLayout*>(fix);
  BodyForce body{fix, {0, 0, 0}, 0, read->region, {-1, -1, -1}};
  std::copy_n(read->force, 3, body.force);
  if (read->energy_variable || (read->kind_of_force != FixAddForceLayout::kConstant &&
                                read->kind_of_force != FixAddForceLayout::kEqual))
    return refused.push_back(name_of(fix) + " with a variable by atom or of the energy");
  if (!take_variables(fix, {read->x_variable, read->y_variable, read->z_variable}, body, refused))
    return;
  if (fix->nevery != 1) return refused.push_back(name_of(fix) + " with every");
  if (domain->dimension == 2 && (body.force[2] != 0 || body.variable[2] >= 0))
    return refused.push_back(name_of(fix) + " out of the plane");
  take_body_force(body, read->region_id || read->region, refused);
}

__attribute__((no_sanitize("vptr"))) void DeckForces::take_setforce(
    Fix* fix, std::vector<std::string>& refused) {
  if (!is_class(fix, "N9LAMMPS_NS11FixSetForceE")) return refused.push_back(name_of(fix));
  const auto* read = static_cast<const FixSetForceLayout*>(fix);
  if (read->kind_of_force != FixSetForceLayout::kConstant &&
      read->kind_of_force != FixSetForceLayout::kEqual)
    return refused.push_back(name_of(fix) + " with a variable by atom");
  BodyForce body{fix, {0, 0, 0}, 0, read->region, {-1, -1, -1}};
  for (int a = 0; a < 3; ++a) {
    if (read->style[a] == 0) continue;
    body.replaced |= 1u << a;
    body.force[a] = read->force[a];
  }
  if (!take_variables(fix, {read->x_variable, read->y_variable, read->z_variable}, body, refused))
    return;
  if (domain->dimension == 2 && (body.force[2] != 0 || body.variable[2] >= 0))
    return refused.push_back(name_of(fix) + " out of the plane");
  take_body_force(body, read->region_id || read->region, refused);
}

// Returns whether all are functions of the step.
bool DeckForces::take_variables(Fix* fix, const char* const (&name)[3], BodyForce& body,
                                std::vector<std::string>& refused) const {
  for (int a = 0; a < 3; ++a) {
    if (!name[a]) continue;
    body.variable[a] = variables_.find(name[a]);
    if (body.variable[a] >= 0) continue;
    refused.push_back(name_of(fix) + " with a variable that depends on more than the step");
    return false;
  }
  return true;
}

__attribute__((no_sanitize("vptr"))) void DeckForces::take_langevin(
    Fix* fix, std::vector<std::string>& refused) {
  if (!is_class(fix, "N9LAMMPS_NS11FixLangevinE")) return refused.push_back(name_of(fix));
  const auto* read = static_cast<const FixLangevinLayout*>(fix);
  bool other_kind = read->rotates || read->angular != 0;
#if defined(MANYMOVE_LANGEVIN_WITH_GJF)
  other_kind = other_kind || read->gjf;
#endif
  if (other_kind) return refused.push_back(name_of(fix) + " with angmom, omega or gjf");
  if (read->tallies) return refused.push_back(name_of(fix) + " with tally yes");
  if (read->zeroes) return refused.push_back(name_of(fix) + " with zero yes");
  if (read->biased) return refused.push_back(name_of(fix) + " with a biased temperature");
  if (domain->dimension == 2) return refused.push_back(name_of(fix) + " in two dimensions");
  Langevin bath{fix,
                read->first_temperature,
                read->last_temperature,
                -1,
                read->period,
                {read->ratio, read->ratio + atom->ntypes + 1},
                read->seed,
                body_forces_.size()};
  if (read->temperature_variable) {
    bath.variable = variables_.find(read->temperature_variable);
    if (bath.variable < 0)
      return refused.push_back(name_of(fix) +
                               " with a variable that depends on more than the step");
  }
  for (int type = 1; !atom->rmass && type <= atom->ntypes; ++type) {
    const auto near = [](double a, double b) { return std::fabs(a - b) <= 1e-12 * std::fabs(b); };
    if (!near(-read->friction[type], friction_of(bath, type, atom->mass[type])) ||
        !near(read->noise[type], noise_of(bath, type, atom->mass[type])))
      return refused.push_back(name_of(fix) + " of another kind");
  }
  baths_.push_back(std::move(bath));
}

void DeckForces::take_body_force(const BodyForce& body, bool in_region,
                                 std::vector<std::string>& refused) {
  if (in_region && !is_block(body.block))
    return refused.push_back(name_of(body.fix) + " in a region that is not a fixed block");
  if (in_region && (domain->xy != 0 || domain->xz != 0 || domain->yz != 0))
    return refused.push_back(name_of(body.fix) + " in a region of a tilted box");
  body_forces_.push_back(body);
}

// Whether region is what its bounding box says, faces included.
bool DeckForces::is_block(Region* region) const {
  const auto regions = domain->get_region_list();
  if (std::find(regions.begin(), regions.end(), region) == regions.end()) return false;
  if (std::string(region->style) != "block" || !region->bboxflag || !region->interior ||
      region->varshape || region->dynamic || region->dynamic_check())
    return false;
  for (int corner = 0; corner < 8; ++corner) {
    double at[3];
    for (int a = 0; a < 3; ++a) at[a] = extent(region, a, corner >> a & 1);
    if (!region->match(at[0], at[1], at[2])) return false;
    for (int a = 0; a < 3; ++a) {
      const double inside = at[a];
      at[a] = std::nextafter(inside, corner >> a & 1 ? HUGE_VAL : -HUGE_VAL);
      if (region->match(at[0], at[1], at[2])) return false;
      at[a] = inside;
    }
  }
  return true;
}

// ---- whether they do what was read ----

// An atom is put where each of them acts; then all atoms are where they are.
void DeckForces::check(std::vector<std::string>& refused) {
  check_integrated_once(refused);
  check_order(refused);
  if (!group_flags_.empty() && group_flags_.back().second > kLastFlag)
    refused.push_back("more than seven groups in fixes");
  if (atom->nlocal == 0) return;
  evaluate();
  double* x = atom->x[0];
  const double home[3] = {x[0], x[1], x[2]};
  const int mask = atom->mask[0];
  bool same = true;
  for (const BodyForce& body : body_forces_) {
    atom->mask[0] = body.fix->groupbit;
    for (int a = 0; body.block && a < 3; ++a)
      x[a] = 0.5 * std::max(extent(body.block, a, false), domain->boxlo_bound[a]) +
             0.5 * std::min(extent(body.block, a, true), domain->boxhi_bound[a]);
    same = same && body_forces_act_as_read();
    std::copy_n(home, 3, x);
    atom->mask[0] = mask;
  }
  if (!body_forces_.empty() && (!same || !body_forces_act_as_read()))
    refused.push_back("fix addforce or setforce of another kind");
  for (const Wall& wall : walls_) {
    atom->mask[0] = wall.fix->groupbit;
    const double across = 0.25 * domain->prd[wall.axis];
    x[wall.axis] = wall.position + (wall.high ? across : -across);
    same = reflects_as_read(wall.fix);
    std::copy_n(home, 3, x);
    atom->mask[0] = mask;
    if (!same) return refused.push_back(name_of(wall.fix) + " of another kind");
  }
  // Last, because a thermostat draws random numbers, which a deck that is refused should not miss.
  for (const Langevin& bath : baths_)
    if (refused.empty() && !acts_as_read(bath))
      refused.push_back(name_of(bath.fix) + " of another kind");
}

// The engine adds the forces of baths before all others.
void DeckForces::check_order(std::vector<std::string>& refused) const {
  for (const Langevin& bath : baths_)
    for (std::size_t k = 0; k < bath.replaced_before; ++k) {
      const BodyForce& body = body_forces_[k];
      const auto both = [&](int mask) {
        return (mask & bath.fix->groupbit) && (mask & body.fix->groupbit);
      };
      if (body.replaced && std::any_of(atom->mask, atom->mask + atom->nlocal, both))
        return refused.push_back(name_of(bath.fix) + " after fix setforce for the same atoms");
    }
}

// Lets the fix act on atoms without forces: each feels its friction and no more noise than there
// can be.
bool DeckForces::acts_as_read(const Langevin& bath) {
  double* const f = atom->f[0];
  const std::size_t values = 3 * static_cast<std::size_t>(atom->nlocal);
  const std::vector<double> before(f, f + values);
  std::fill_n(f, values, 0.0);
  bath.fix->post_force(0);
  bool same = true;
  const double root = std::sqrt(temperature_of(bath));
  for (int i = 0; i < atom->nlocal; ++i) {
    const int type = atom->type[i];
    const double mass = atom->rmass ? atom->rmass[i] : atom->mass[type];
    const bool acts = atom->mask[i] & bath.fix->groupbit;
    const double friction = acts ? friction_of(bath, type, mass) : 0,
                 most = acts ? 0.5 * noise_of(bath, type, mass) * root : 0;
    for (int a = 0; a < 3; ++a) {
      const double drag = -friction * atom->v[i][a];
      same = same && std::fabs(atom->f[i][a] - drag) <= most + 1e-9 * (most + std::fabs(drag));
    }
  }
  std::copy(before.begin(), before.end(), f);
  return same;
}

void DeckForces::check_integrated_once(std::vector<std::string>& refused) const {
  if (integrators_.size() < 2) return;
  for (int i = 0; i < atom->nlocal; ++i) {
    int times = 0;
    for (const Fix* fix : integrators_) times += (atom->mask[i] & fix->groupbit) != 0;
    if (times > 1) return refused.push_back("fix nve twice for the same atoms");
  }
}

// Takes what was added off, lets the fixes act, and expects the same bits.
bool DeckForces::body_forces_act_as_read() {
  double** f = atom->f;
  const std::size_t values = 3 * static_cast<std::size_t>(atom->nlocal);
  const std::vector<double> before(f[0], f[0] + values);
  std::vector<double> expected(values);
  for (int i = 0; i < atom->nlocal; ++i) {
    double sum[3];
    body_force(i, sum);
    for (int a = 0; a < 3; ++a) expected[3 * i + a] = f[i][a] -= sum[a];
    for (const BodyForce& body : body_forces_)
      for (int a = 0; acts_on(body, i) && a < 3; ++a) {
        double& force = expected[3 * i + a];
        force = body.replaced >> a & 1u ? body.force[a] : force + body.force[a];
      }
  }
  add_on_host(0);
  bool same = true;
  for (int i = 0; i < atom->nlocal; ++i) {  // in two dimensions another fix has the third
    const std::size_t bytes = sizeof(double) * static_cast<unsigned>(domain->dimension);
    same = same && std::memcmp(&expected[3 * static_cast<std::size_t>(i)], f[i], bytes) == 0;
  }
  std::copy(before.begin(), before.end(), f[0]);
  return same;
}

// Lets the fix reflect the atoms where they are, and expects the same bits.
bool DeckForces::reflects_as_read(Fix* fix) {
  const std::size_t values = 3 * static_cast<std::size_t>(atom->nlocal);
  double *x = atom->x[0], *v = atom->v[0];
  const std::vector<double> places(x, x + values), velocities(v, v + values);
  std::vector<double> expected_x = places, expected_v = velocities;
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
  const bool same = std::equal(x, x + values, expected_x.begin()) &&
                    std::equal(v, v + values, expected_v.begin());
  std::copy(places.begin(), places.end(), x);
  std::copy(velocities.begin(), velocities.end(), v);
  return same;
}

// ---- what the engine is told ----

void DeckForces::describe(manymove::dpd::Settings& settings, const std::vector<int>& types) {
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
  for (const Langevin& bath : baths_) {
    manymove::dpd::LangevinThermostat description{{0.0},
                                                  {0.0},
                                                  temperature_of(bath),
                                                  static_cast<std::uint32_t>(bath.seed),
                                                  flag_of(bath.fix->groupbit)};
    for (std::size_t k = 1; k < types.size(); ++k) {
      description.friction.push_back(friction_of(bath, types[k], settings.mass[k]));
      description.noise.push_back(noise_of(bath, types[k], settings.mass[k]));
    }
    settings.langevin_thermostats.push_back(std::move(description));
  }
  if (limiter_)
    settings.speed_limit = {largest_step_ / settings.time_step, flag_of(limiter_->groupbit)};
}

std::uint32_t DeckForces::flags_of(int mask) const {
  std::uint32_t flags = 0;
  for (const Fix* fix : integrators_)
    if (mask & fix->groupbit) flags |= manymove::dpd::kIntegrated;
  for (const auto& [bit, flag] : group_flags_)
    if (mask & bit) flags |= flag;
  return flags;
}

// ---- what changes from step to step ----

bool DeckForces::has_course() const {
  const auto varies = [](const BodyForce& body) {
    return std::any_of(body.variable, body.variable + 3, [](int index) { return index >= 0; });
  };
  const auto changes = [](const Langevin& bath) {
    return bath.variable >= 0 || bath.first != bath.last;
  };
  return std::any_of(body_forces_.begin(), body_forces_.end(), varies) ||
         std::any_of(baths_.begin(), baths_.end(), changes);
}

void DeckForces::evaluate() {
  for (BodyForce& body : body_forces_)
    for (int a = 0; a < 3; ++a)
      if (body.variable[a] >= 0) body.force[a] = variables_.value(body.variable[a]);
}

void DeckForces::add_to_course(std::vector<double>& values) {
  evaluate();
  for (const Langevin& bath : baths_) values.push_back(temperature_of(bath));
  for (const BodyForce& body : body_forces_)
    values.insert(values.end(), body.force, body.force + 3);
}

double DeckForces::temperature_of(const Langevin& bath) const {
  return variables_.temperature(bath.fix, bath.variable, bath.first, bath.last);
}

double DeckForces::friction_of(const Langevin& bath, int type, double mass) const {
  return manymove::dpd::langevin_friction(
      thermostat_units_of(*force), {bath.period, bath.ratio[static_cast<std::size_t>(type)]}, mass);
}

double DeckForces::noise_of(const Langevin& bath, int type, double mass) const {
  return manymove::dpd::langevin_noise(thermostat_units_of(*force),
                                       {bath.period, bath.ratio[static_cast<std::size_t>(type)]},
                                       mass, update->dt);
}

bool DeckForces::is_langevin(const Fix* fix) const {
  return std::any_of(baths_.begin(), baths_.end(),
                     [fix](const Langevin& bath) { return bath.fix == fix; });
}

void DeckForces::add_on_host(int vflag) const {
  for (int k = 0; k < modify->nfix; ++k)
    if ((modify->fmask[k] & FixConst::POST_FORCE) && !is_langevin(modify->fix[k]))
      modify->fix[k]->post_force(vflag);
}

bool DeckForces::acts_on(const BodyForce& body, int i) const {
  const double* x = atom->x[i];
  return (atom->mask[i] & body.fix->groupbit) &&
         (!body.block || body.block->match(x[0], x[1], x[2]));
}

void DeckForces::body_force(int i, double sum[3]) const {
  sum[0] = sum[1] = sum[2] = 0;
  for (const BodyForce& body : body_forces_)
    for (int a = 0; acts_on(body, i) && a < 3; ++a)
      if (!(body.replaced >> a & 1u)) sum[a] += body.force[a];
}

bool DeckForces::closes(int axis, bool high) const {
  const auto closed_by = [&](const auto& wall, const Fix* fix) {
    return fix->igroup == 0 && wall.axis == axis && wall.high == high;
  };
  for (const FixManymoveWall* fix : own_walls_)
    for (const auto& wall : fix->walls())
      if (closed_by(wall, fix)) return true;
  return std::any_of(walls_.begin(), walls_.end(),
                     [&](const Wall& wall) { return closed_by(wall, wall.fix); });
}
