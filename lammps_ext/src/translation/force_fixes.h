// SPDX-License-Identifier: GPL-2.0-or-later
// Fixes that add to forces, replace them, reflect particles at walls, limit or prescribe
// velocities, or are a thermostat or a friction within a step, as an engine has them. What is read
// from their members is compared with what the fixes do.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/dpd/engine.h"
#include "pointers.h"
#include "translation/integrators.h"
#include "translation/refusals.h"
#include "translation/source_fixes.h"
#include "translation/step_variables.h"
#include "translation/surface_fixes.h"

namespace LAMMPS_NS {

class Fix;
class FixManymoveWall;
class Region;

class ForceFixes : protected Pointers {
 public:
  explicit ForceFixes(class LAMMPS* lmp)
      : Pointers(lmp), variables_(lmp), surfaces_(lmp), sources_(lmp) {}

  // Takes a fix if it is one of those that act on particles within a step, and returns whether it
  // is. What no engine serves is appended to the refusals.
  bool take(Fix* fix, Refusals& refusals);
  // Compares the fixes with what they do, when all have been taken. Local.
  void check(Refusals& refusals);

  // Adds them to the settings; flags are those that flags_of() sets. types: LAMMPS' type of each of
  // the engine's. The masses of the settings must be known.
  void describe(manymove::dpd::Settings& settings, const std::vector<int>& types);
  std::uint32_t flags_of(int mask) const;
  // An integrator of all forces that the engine knows.
  void take_nve(Fix* fix);
  // The flag of the particles of a group, a new one for a group that has none.
  std::uint32_t flag_of(int groupbit);
  // Whether there are flags left for so many groups more.
  bool has_flags_for(std::size_t groups) const { return group_flags_.size() + groups <= 7; }

  // Forces and temperatures that change from step to step: whether there are any, and those of the
  // present step.
  bool has_series() const;
  void add_to_series(std::vector<double>& values);

  // Lets the fixes of the host act on its forces, except for thermostats and frictions, whose
  // forces the engine has added.
  void add_on_host(int vflag) const;

  // Whether fix move prescribes the velocity of atoms, and of those in this group.
  bool has_moves() const { return !moves_.empty(); }
  bool is_moved(int mask) const;
  // Whether a wall reflects atoms of these groups.
  bool reflects(int mask) const;
  // Gives moved atoms their velocity. velocity: [3 nlocal]
  void prescribe(std::vector<double>& velocity) const;

  // Whether all integrators also integrate scalars of atoms.
  bool integrate_scalars() const {
    return std::ranges::all_of(integrators_, &LAMMPS_NS::integrates_scalars);
  }

  bool has_body_forces() const { return !body_forces_.empty() || surfaces_.any(); }
  // Evaluates the forces of the present step, which body_force() is about.
  void evaluate();
  // The sum of what is added to the force on local atom i where it is now.
  void body_force(int i, double sum[3]) const;

  // Whether a wall for all atoms closes a face of the box: one that reflects them, or, if these
  // count, the plane of a surface.
  bool closes(int axis, bool high, bool surfaces_count) const;

 private:
  struct BodyForce {
    Fix* fix;
    double force[3];
    unsigned replaced;  // bit a: component a replaces the force
    Region* block;      // null: everywhere
    int variable[3];    // of each component; -1: it is constant
  };
  struct Langevin {
    Fix* fix;
    TargetTemperature target;
    double period;
    std::vector<double> ratio;  // by type
    int seed;
    std::size_t replaced_before;  // body forces that act before it
  };
  struct Viscous {
    Fix* fix;
    std::vector<double> friction;  // by type
    std::size_t replaced_before;
  };
  struct SurfaceFix {
    Fix* fix;
    std::size_t replaced_before;
  };
  struct Move {
    Fix* fix;
    std::vector<double> velocity;
  };
  struct Wall {
    Fix* fix;
    int axis;
    bool high;
    double position;
  };

  void take_addforce(Fix* fix, Refusals& refusals);
  void take_setforce(Fix* fix, Refusals& refusals);
  void take_body_force(const BodyForce& body, bool in_region, Refusals& refusals);
  void take_wall(const Wall& wall, Refusals& refusals);
  void take_reflecting_walls(Fix* fix, Refusals& refusals);
  void take_langevin(Fix* fix, Refusals& refusals);
  void take_viscous(Fix* fix, Refusals& refusals);
  void take_move(Fix* fix, Refusals& refusals);
  bool take_variables(const std::array<const char*, 3>& name, BodyForce& body,
                      Refusals& refusals) const;
  bool is_added_by_engine(const Fix* fix) const;
  double friction_of(const Langevin& thermostat, int type, double mass) const;
  double noise_of(const Langevin& thermostat, int type, double mass) const;
  bool acts_as_read(const Langevin& thermostat);
  void check_order(const Fix* fix, std::size_t replaced_before, Refusals& refusals) const;
  void check_moves(Refusals& refusals) const;
  bool share_atoms(const Fix* a, const Fix* b) const;
  void take_limited_nve(Fix* fix, Refusals& refusals);
  bool body_forces_act_as_read();
  bool reflects_as_read(Fix* fix);
  bool acts_on(const BodyForce& body, int i) const;
  void check_integrated_once(Refusals& refusals) const;

  const StepVariables variables_;
  std::vector<Fix*> integrators_;
  const Fix* limiter_ = nullptr;  // of the integrators, one that limits velocities
  double largest_step_ = 0;
  std::vector<FixManymoveWall*> own_walls_;
  std::vector<Wall> walls_;  // of fix wall/reflect
  std::vector<BodyForce> body_forces_;
  std::vector<Langevin> thermostats_;
  std::vector<Viscous> viscous_;
  std::vector<Move> moves_;
  SourceFixes sources_;
  SurfaceFixes surfaces_;
  std::vector<SurfaceFix> surface_fixes_;
  std::vector<std::pair<int, std::uint32_t>> group_flags_;  // group's bit, particle's flag
};

}  // namespace LAMMPS_NS
