// SPDX-License-Identifier: GPL-2.0-or-later
#include "styles/fix_manymove_wall.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "atom.h"
#include "domain.h"
#include "error.h"
#include "update.h"

using namespace LAMMPS_NS;

namespace {
constexpr int kFixed = 1;  // Domain::boundary: neither periodic nor shrink-wrapped
}

// fix ID group manymove/wall face position [face position ...]
FixManymoveWall::FixManymoveWall(LAMMPS* lmp, int narg, char** arg) : Fix(lmp, narg, arg) {
  if (narg < 5) utils::missing_cmd_args(FLERR, "fix manymove/wall", error);
  dynamic_group_allow = 1;
  const std::string faces[] = {"xlo", "xhi", "ylo", "yhi", "zlo", "zhi"};
  for (int k = 3; k < narg; k += 2) {
    const auto* face = std::ranges::find(faces, arg[k]);
    if (face == std::end(faces))
      error->all(FLERR, "Fix manymove/wall: unknown face {} (xlo, xhi, ylo, yhi, zlo, zhi)",
                 arg[k]);
    if (k + 1 == narg) utils::missing_cmd_args(FLERR, "fix manymove/wall " + *face, error);
    const auto which = static_cast<int>(face - std::begin(faces));
    Wall wall{which / 2, which % 2 == 1, std::string(arg[k + 1]) == "EDGE", 0};
    if (!wall.at_edge) wall.position = utils::numeric(FLERR, arg[k + 1], false, lmp);
    for (const Wall& other : walls_) {
      if (other.axis == wall.axis && other.high == wall.high)
        error->all(FLERR, "Fix manymove/wall: face {} is given twice", *face);
    }
    if (wall.axis == 2 && domain->dimension == 2)
      error->all(FLERR, "Fix manymove/wall: face {} does not exist in two dimensions", *face);
    walls_.push_back(wall);
  }
}

int FixManymoveWall::setmask() { return FixConst::POST_INTEGRATE; }

double FixManymoveWall::position_of(const Wall& wall) const {
  if (!wall.at_edge) return wall.position;
  return wall.high ? domain->boxhi[wall.axis] : domain->boxlo[wall.axis];
}

void FixManymoveWall::init() {
  for (const Wall& wall : walls_) {
    if (domain->periodicity[wall.axis])
      error->all(
          FLERR,
          "Fix manymove/wall: the box is periodic along {}, where a wall is wanted; use boundary f",
          "xyz"[wall.axis]);
    if (wall.at_edge && domain->boundary[wall.axis][wall.high] != kFixed)
      error->all(FLERR,
                 "Fix manymove/wall: the boundary at {}{} follows the particles; use boundary f",
                 "xyz"[wall.axis], wall.high ? "hi" : "lo");
    for (const Wall& other : walls_) {
      if (other.axis == wall.axis && !other.high && wall.high &&
          !(position_of(other) < position_of(wall)))
        error->all(FLERR, "Fix manymove/wall: the walls along {} leave no room between {} and {}",
                   "xyz"[wall.axis], position_of(other), position_of(wall));
    }
  }
  if (domain->triclinic) error->all(FLERR, "Fix manymove/wall does not work with triclinic boxes");
  if (utils::strmatch(update->integrate_style, "^respa"))
    error->all(FLERR, "Fix manymove/wall does not work with run_style respa");
}

void FixManymoveWall::post_integrate() {
  for (const Wall& wall : walls_) {
    const double position = position_of(wall);
    for (int i = 0; i < atom->nlocal; ++i) {
      double& x = atom->x[i][wall.axis];
      if (!(atom->mask[i] & groupbit) || (wall.high ? x <= position : x >= position)) continue;
      x = 2 * position - x;
      double& v = atom->v[i][wall.axis];
      v = -v;
    }
  }
}
