// SPDX-License-Identifier: GPL-2.0-or-later
// LAMMPS' fixes edpd/source and tdpd/source, which change scalars of the atoms in a block.
#pragma once

#include <vector>

#include "core/dpd/engine.h"
#include "fix.h"
#include "pointers.h"
#include "translation/refusals.h"

namespace LAMMPS_NS {

class SourceFixes : protected Pointers {
 public:
  explicit SourceFixes(class LAMMPS* lmp) : Pointers(lmp) {}

  // Takes a fix if it is one of these, and returns whether it is.
  bool take(Fix* fix, Refusals& refusals);
  // Compares the fixes with what they do: an atom is put where each of them acts; then all atoms
  // are where they are. Local; there is an atom.
  void check(Refusals& refusals) const;
  bool has(const Fix* fix) const;

  void describe(manymove::dpd::Settings& settings, const auto& flag_of) const {
    for (const Source& source : sources_) {
      manymove::dpd::BodyForce body{};
      body.force[0] = source.rate;
      body.in_block = true;
      for (int a = 0; a < 3; ++a) body.low[a] = source.low[a], body.high[a] = source.high[a];
      body.flag = flag_of(source.fix->groupbit);
      body.scalar = source.scalar;
      settings.body_forces.push_back(body);
    }
  }
  void add_to_series(std::vector<double>& values) const {
    for (const Source& source : sources_) values.insert(values.end(), {source.rate, 0, 0});
  }

 private:
  struct Source {
    Fix* fix;
    int scalar;
    double rate, low[3], high[3];  // rate: per unit of time
  };
  template <class Own>
  void take_source(Own* fix, Refusals& refusals);
  bool acts_as_read(const Source& source) const;

  std::vector<Source> sources_;
};

}  // namespace LAMMPS_NS
