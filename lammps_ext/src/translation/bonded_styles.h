// SPDX-License-Identifier: GPL-2.0-or-later
// The bond style and the angle style of an input script as an engine has them.
#pragma once

#include <string>
#include <vector>

#include "core/dpd/engine.h"
#include "pointers.h"

namespace LAMMPS_NS {

class BondedStyles : protected Pointers {
 public:
  explicit BondedStyles(class LAMMPS* lmp) : Pointers(lmp) {}

  // The styles that no engine has, or whose coefficients could not be read, separated by commas.
  std::string unserved() const;

  // Whether there are bonds or angles with forces. The styles `zero` have no forces.
  bool has_bonds() const;
  bool has_angles() const;
  std::vector<manymove::dpd::BondCoefficients> bonds() const;
  std::vector<manymove::dpd::AngleCoefficients> angles() const;
};

}  // namespace LAMMPS_NS
