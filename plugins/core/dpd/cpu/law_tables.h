// SPDX-License-Identifier: BSD-3-Clause
// Coefficients of the forces on a CPU, by table.
#pragma once

#include <vector>

#include "bonded.h"
#include "step_rows.h"

namespace manymove::dpd {

template <class P>
class LawTables {
  using Real = typename P::Real;

 public:
  // Those of these settings, which are the same in all else.
  void take(const std::vector<Settings>& tables) {
    laws_.clear();
    for (const Settings& settings : tables) {
      laws_.push_back({laws_of<P>(settings.pairs), laws_across_of<P>(settings.pairs),
                       bond_laws_of<P>(settings), bonded_laws_of(settings.bonds),
                       bonded_laws_of(settings.angles), forces_of<P>(settings, nullptr, nullptr)});
      laws_.back().forces.laws = laws_.back().pairs.data();
      laws_.back().forces.laws_across = laws_.back().across.data();
    }
  }
  // Lets steps have the coefficients of a table.
  void choose(std::size_t table, StepRows<P>& rows, BondedTerms& terms) const {
    const Laws& laws = laws_[table];
    rows.forces = laws.forces;
    rows.bonded.laws = laws.harmonic.data();
    terms.bonds = laws.bonds.data();
    terms.angles = laws.angles.data();
  }

 private:
  struct Laws {
    std::vector<PairLaw<Real>> pairs;
    std::vector<TransverseLaw<Real>> across;
    std::vector<BondLaw<Real>> harmonic;
    std::vector<BondedLaw> bonds, angles;
    Forces<P> forces;
  };
  std::vector<Laws> laws_;
};

}  // namespace manymove::dpd
