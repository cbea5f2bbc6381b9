// SPDX-License-Identifier: GPL-2.0-or-later
// Fixes that add to forces, replace them, reflect particles at walls or limit velocities within a
// step, as an engine has them. Their private members are read as the classes of
// layouts_of_fixes_api.h, and compared with what the fixes do.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/dpd/engine.h"
#include "pointers.h"

namespace LAMMPS_NS {

class Fix;
class FixManymoveWall;
class Region;

class DeckForces : protected Pointers {
 public:
  explicit DeckForces(class LAMMPS* lmp) : Pointers(lmp) {}

  // Takes a fix if it is one of those that act on particles within a step, and returns whether it
  // is. What no engine serves is appended to `refused`.
  bool take(Fix* fix, std::vector<std::string>& refused);
  // Compares the fixes with what they do, when all have been taken. Local.
  void check(std::vector<std::string>& refused);

  // What the engine is told; flags are those that flags_of() sets.
  void describe(manymove::dpd::Settings& settings);
  std::uint32_t flags_of(int mask) const;

  bool has_body_forces() const { return !body_forces_.empty(); }
  // The sum of what is added to the force on local atom i where it is now.
  void body_force(int i, double sum[3]) const;

  // Whether a wall for all atoms closes a face of the box.
  bool closes(int axis, bool high) const;

 private:
  struct BodyForce {
    Fix* fix;
    double force[3];
    unsigned replaced;  // bit a: component a replaces the force
    Region* block;      // null: everywhere
  };
  struct Wall {
    Fix* fix;
    int axis;
    bool high;
    double position;
  };

  void take_addforce(Fix* fix, std::vector<std::string>& refused);
  void take_setforce(Fix* fix, std::vector<std::string>& refused);
  void take_body_force(const BodyForce& body, bool in_region, std::vector<std::string>& refused);
  void take_wall(const Wall& wall, std::vector<std::string>& refused);
  void take_reflecting_walls(Fix* fix, std::vector<std::string>& refused);
  void take_nve(Fix* fix);
  void take_limited_nve(Fix* fix, std::vector<std::string>& refused);
  bool body_forces_act_as_read();
  bool reflects_as_read(Fix* fix);
  bool acts_on(const BodyForce& body, int i) const;
  void check_integrated_once(std::vector<std::string>& refused) const;
  bool is_block(Region* region) const;
  std::uint32_t flag_of(const Fix* fix);

  std::vector<Fix*> integrators_;
  const Fix* limiter_ = nullptr;  // of the integrators, one that limits velocities
  double largest_step_ = 0;
  std::vector<FixManymoveWall*> own_walls_;
  std::vector<Wall> walls_;  // of fix wall/reflect
  std::vector<BodyForce> body_forces_;
  std::vector<std::pair<int, std::uint32_t>> group_flags_;  // group's bit, particle's flag
};

}  // namespace LAMMPS_NS
