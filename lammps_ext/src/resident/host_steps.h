// SPDX-License-Identifier: GPL-2.0-or-later
// What changes in LAMMPS while its own Verlet makes steps of run_style manymove/verlet.
#pragma once

#include <utility>

#include "neighbor.h"
#include "update.h"

namespace LAMMPS_NS {

// Fixes take a run style whose name does not begin with "verlet" for rRESPA. While LAMMPS' own
// Verlet lets them act, they find a name that does. The style's own name is back at the end of the
// scope, also if an error ends it.
class NameForFixes {
 public:
  explicit NameForFixes(Update* update)
      : update_(update), own_name_(std::exchange(update->integrate_style, name_)) {}
  ~NameForFixes() { update_->integrate_style = own_name_; }
  NameForFixes(const NameForFixes&) = delete;

 private:
  char name_[16] = "verlet/manymove";
  Update* update_;
  char* own_name_;
};

// While it lives, LAMMPS builds its lists in each step, and then deletes atoms outside of the box.
class ListsOfEachStep {
 public:
  explicit ListsOfEachStep(Neighbor* neighbor)
      : neighbor_(neighbor),
        every_(std::exchange(neighbor->every, 1)),
        delay_(std::exchange(neighbor->delay, 0)),
        check_(std::exchange(neighbor->dist_check, 0)) {}
  ~ListsOfEachStep() {
    neighbor_->every = every_;
    neighbor_->delay = delay_;
    neighbor_->dist_check = check_;
  }
  ListsOfEachStep(const ListsOfEachStep&) = delete;

 private:
  Neighbor* const neighbor_;
  const int every_, delay_, check_;
};

}  // namespace LAMMPS_NS
