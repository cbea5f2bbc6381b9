// SPDX-License-Identifier: GPL-2.0-or-later
// The pair styles of an input script as an engine has them: one of DPD, alone or in a hybrid style
// with potentials and charges of other styles.
#pragma once

#include <string>
#include <vector>

#include "core/dpd/pair_forces.h"
#include "pointers.h"
#include "translation/force_tables.h"

namespace LAMMPS_NS {

class Pair;
class PairManymoveDPD;

class ServedPairs : protected Pointers {
 public:
  explicit ServedPairs(class LAMMPS* lmp);

  // The style of DPD; null if an engine does not serve all styles.
  PairManymoveDPD* dpd() const { return unserved_.empty() ? dpd_ : nullptr; }
  // The style of charges; null if there is none.
  Pair* charges() const { return charges_; }
  // What no engine serves, or what an input script can use instead; empty if all is served.
  const std::string& unserved() const { return unserved_; }

  // Coefficients by LAMMPS' types, with potentials. Valid until the next call.
  manymove::dpd::PairTable table();
  // The number of nodes of tabulated potentials.
  std::size_t nodes() const { return tables_.nodes(); }

 private:
  struct Part {
    std::string name, style;  // the latter without a suffix
    Pair* pair;
  };
  std::string find_parts();
  std::string check_potentials();
  std::string instead() const;
  std::string check_potential(const Part& part, int i, int j);
  manymove::dpd::PairPotential potential(const Part& part, int i, int j);
  bool acts(const Part& part, int i, int j) const;

  PairManymoveDPD* dpd_ = nullptr;
  Pair* charges_ = nullptr;
  std::vector<Part> potentials_;
  PairTables tables_;
  std::string unserved_;
  std::vector<manymove::dpd::PairCoefficients> coefficients_;
};

}  // namespace LAMMPS_NS
