// SPDX-License-Identifier: GPL-2.0-or-later
// The styles of bonds, angles, dihedrals and impropers of an input script as an engine has them.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "core/dpd/engine.h"
#include "pointers.h"

namespace LAMMPS_NS {

class Angle;
class Bond;
class Dihedral;
class Improper;

// The style of each type of bonds (or angles, ...): one for all types, or those of a hybrid style.
template <class Style>
struct StylesByType {
  struct Part {
    std::string name;        // without a suffix
    Style* style = nullptr;  // null: the type has no forces
  };
  std::string command;     // bond_style and its name
  std::vector<Part> part;  // [types + 1]; empty without a style

  bool is_hybrid = false;
  bool act(int type) const { return part[static_cast<std::size_t>(type)].style != nullptr; }
  bool any() const {
    return std::ranges::any_of(part, [](const Part& each) { return each.style != nullptr; });
  }
};

class BondedStyles : protected Pointers {
 public:
  explicit BondedStyles(class LAMMPS* lmp);

  // The styles that no engine has, or whose coefficients could not be read, separated by commas.
  std::string unserved() const;

  // The styles `zero`, and the types `none` of a hybrid style, have no forces.
  const StylesByType<Bond>& of_bonds() const { return bonds_; }
  const StylesByType<Angle>& of_angles() const { return angles_; }
  const StylesByType<Dihedral>& of_dihedrals() const { return dihedrals_; }
  const StylesByType<Improper>& of_impropers() const { return impropers_; }
  // Whether there are terms of more than two particles.
  bool has_wide_terms() const { return angles_.any() || dihedrals_.any() || impropers_.any(); }

  // Coefficients by type, [types + 1]; empty without terms, or if some cannot be read.
  std::vector<manymove::dpd::BondCoefficients> bonds() const;
  std::vector<manymove::dpd::AngleCoefficients> angles() const;
  std::vector<manymove::dpd::DihedralCoefficients> dihedrals() const;
  std::vector<manymove::dpd::ImproperCoefficients> impropers() const;
  // The number of all types of terms with forces.
  int types() const;
  // The number of nodes of tabulated bonds.
  std::size_t nodes() const;

 private:
  bool bonds_act_as_read() const;

  StylesByType<Bond> bonds_;
  StylesByType<Angle> angles_;
  StylesByType<Dihedral> dihedrals_;
  StylesByType<Improper> impropers_;
};

}  // namespace LAMMPS_NS
