// SPDX-License-Identifier: GPL-2.0-or-later
// The styles of bonds, angles, dihedrals and impropers of an input script as an engine has them.
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

  // Whether there are terms with forces. The styles `zero` have no forces.
  bool has_bonds() const;
  bool has_angles() const;
  bool has_dihedrals() const;
  bool has_impropers() const;
  // Whether there are terms of more than two particles.
  bool has_wide_terms() const { return has_angles() || has_dihedrals() || has_impropers(); }
  std::vector<manymove::dpd::BondCoefficients> bonds() const;
  std::vector<manymove::dpd::AngleCoefficients> angles() const;
  std::vector<manymove::dpd::DihedralCoefficients> dihedrals() const;
  std::vector<manymove::dpd::ImproperCoefficients> impropers() const;
  // The number of all types with forces.
  int types() const;
  // The number of nodes of tabulated bonds.
  std::size_t nodes() const;

 private:
  std::vector<manymove::dpd::BondCoefficients> tabulated_bonds() const;
  std::string unserved_bonds() const;
  std::string unserved_angles() const;
  std::string unserved_dihedrals() const;
  std::string unserved_impropers() const;
};

}  // namespace LAMMPS_NS
