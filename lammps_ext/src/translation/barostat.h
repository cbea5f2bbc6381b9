// SPDX-License-Identifier: GPL-2.0-or-later
// fix npt, nph and press/berendsen of particles in an engine. LAMMPS' fixes act as they are, on a
// few atoms with the kinetic energy of all: the engine follows the box and the factors of
// velocities.
#pragma once

#include <array>
#include <string>

#include "core/dpd/engine.h"
#include "pointers.h"

namespace LAMMPS_NS {

class Fix;

class Barostat : protected Pointers {
 public:
  explicit Barostat(class LAMMPS* lmp) : Pointers(lmp) {}

  // What an engine follows. From the present step to the next one particles move in the box `way`.
  struct Change {
    double factor[3];  // of velocities
    manymove::dpd::Box way, next;
  };

  static bool is_one(const Fix* fix);
  // Takes the fix, or returns why no engine serves it.
  std::string take(Fix* fix);
  const Fix* fix() const { return fix_; }
  // Whether the fix moves the particles (npt, nph), or acts at the end of steps only.
  bool integrates() const { return integrates_; }

  // The parts of a step: before its motion, and at its end. LAMMPS' time step is that of the step,
  // and its virials are those of the latest forces. kinetic: as Engine::kinetic_sums(). Collective.
  Change begin_step(const std::array<double, 6>& kinetic) const;
  Change end_step(const std::array<double, 6>& kinetic) const;

 private:
  Change act(const std::array<double, 6>& kinetic, const auto& part) const;
  manymove::dpd::Box box() const;

  Fix* fix_ = nullptr;
  bool integrates_ = false;
};

}  // namespace LAMMPS_NS
