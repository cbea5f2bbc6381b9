// SPDX-License-Identifier: GPL-2.0-or-later
// Charges of LAMMPS' pair styles coul/slater/long (with kspace_style pppm or ewald),
// coul/slater/cut, coul/cut and coul/debye over a DPD style in hybrid/overlay: what they ask of an
// engine.
#pragma once

#include <string>
#include <vector>

#include "core/dpd/engine.h"
#include "pointers.h"

namespace LAMMPS_NS {

class Fix;
class Pair;
class PairManymoveDPDCoulSlaterLong;
class ServedPairs;

class ChargeStyles : protected Pointers {
 public:
  ChargeStyles(class LAMMPS* lmp, const ServedPairs& pairs);  // collective

  bool any() const { return coulomb_ != nullptr; }
  // Why no engine serves the charges of this rank's atoms, separated by commas; or "".
  std::string unserved() const;
  // Whether the fix may insert charges, or delete some so that a net charge remains under a sum
  // over all periodic images. Ranks may disagree.
  bool may_change_by(const Fix* fix) const;
  void describe(manymove::dpd::Settings& settings) const;
  // Lets LAMMPS have the sums of an engine.
  void set_sums(const manymove::dpd::EnergyAndVirial& sums) const;

 private:
  bool is_smeared() const { return style_ != "coul/cut" && style_ != "coul/debye"; }
  std::string why_not_mesh() const;
  std::string why_not_pairs() const;
  std::string why_not_pair(int i, int j) const;
  void find_charges();

  Pair* const coulomb_;                                  // null: there are no charges
  const PairManymoveDPDCoulSlaterLong* const combined_;  // if one style has both
  std::string style_;
  bool long_range_ = false;
  double smearing_ = 0, screening_ = 0, cutoff_ = 0;
  double net_charge_ = 0;
  std::vector<double> largest_;  // of the charges of all ranks by type, [types + 1]
};

}  // namespace LAMMPS_NS
