// SPDX-License-Identifier: GPL-2.0-or-later
// fix manymove/wall: bounce-forward walls. A particle that has crossed one is mirrored back, its
// normal velocity reversed, its tangential velocity kept.
#pragma once

#include <vector>

#include "fix.h"

namespace LAMMPS_NS {

class FixManymoveWall : public Fix {
 public:
  FixManymoveWall(class LAMMPS* lmp, int narg, char** arg);

  int setmask() override;
  void init() override;
  void post_integrate() override;

  struct Wall {
    int axis;
    bool high;
    bool at_edge;     // moves with the box
    double position;  // else
  };
  const std::vector<Wall>& walls() const { return walls_; }
  double position_of(const Wall& wall) const;

 private:
  std::vector<Wall> walls_;
};

}  // namespace LAMMPS_NS
