// SPDX-License-Identifier: GPL-2.0-or-later
// fix ave/chunk: what it reads from the particles, and samples whose sums an engine makes.
#pragma once

#include <optional>
#include <vector>

#include "core/dpd/engine.h"
#include "lmptype.h"

namespace LAMMPS_NS {

class Fix;
class LAMMPS;

class AveChunk {
 public:
  AveChunk(LAMMPS* lmp, Fix* fix) : lmp_(lmp), fix_(fix) {}

  // The next step in which the fix takes a sample.
  bigint next_sample() const;
  // Bits of ReadArrays. Chunks need positions without images. Values other than velocities, forces
  // and temperatures need no further arrays.
  unsigned reads(bool has_body_forces) const;

  // The sums of a sample over all atoms in the bins of a grid: the number of atoms, then the values
  // of the fix. Empty where LAMMPS has to take the sample: for other chunks, groups and values, and
  // for the first sample of a run, in which the fix makes room for its sums.
  std::optional<manymove::dpd::Profile> profile(bool has_body_forces) const;
  // Lets the fix act in the present step with these sums of this rank. Collective.
  void take_sample(const std::vector<double>& sums) const;

 private:
  LAMMPS* lmp_;
  Fix* fix_;
};

}  // namespace LAMMPS_NS
