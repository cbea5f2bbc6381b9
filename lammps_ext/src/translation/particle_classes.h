// SPDX-License-Identifier: GPL-2.0-or-later
// The types of particles as an engine sees them. They equal LAMMPS' types unless particles of one
// type differ: in their masses (atom styles with a mass for each particle), or in the groups that
// neigh_modify exclude names. Then each combination that occurs is a type of the engine.
#pragma once

#include <string>
#include <vector>

#include "core/dpd/engine.h"
#include "mpi_communicator.h"
#include "pointers.h"

namespace LAMMPS_NS {

class ParticleClasses : protected Pointers {
 public:
  // with_masses: whether masses by particle count.
  ParticleClasses(class LAMMPS* lmp, bool with_masses);

  // Finds the classes of the atoms of all ranks, collectively. Returns why there are none, or an
  // empty string.
  std::string find(MpiCommunicator& communicator);

  int count() const;
  // The class of local atom i, from 1; 0 if it was not found.
  int of(int i) const;
  // Coefficients of all pairs of classes, [count + 1][count + 1], from those of LAMMPS' types.
  // Pairs that neigh_modify excludes have none.
  std::vector<manymove::dpd::PairCoefficients> expanded(
      const manymove::dpd::PairTable& table) const;
  std::vector<double> masses() const;  // [count + 1]
  std::vector<int> types() const;      // those of LAMMPS, [count + 1]

 private:
  struct Kind {
    int type, groups;
    double mass;
    auto operator<=>(const Kind&) const = default;
  };
  Kind kind_of(int i) const;
  bool excluded(const Kind& a, const Kind& b) const;

  const bool with_masses_;
  bool plain_ = true;  // the classes are LAMMPS' types
  int relevant_ = 0;   // bits of groups
  std::vector<Kind> kinds_;
};

}  // namespace LAMMPS_NS
