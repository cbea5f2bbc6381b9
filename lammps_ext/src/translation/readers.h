// SPDX-License-Identifier: GPL-2.0-or-later
// What computes, fixes at the end of a step and output read from the particles.
#pragma once

#include <vector>

#include "pointers.h"

namespace LAMMPS_NS {

class Fix;

// What is read from the particles. kVelocityX: shifted by one for y, and by two for z. kSums: sums
// over velocities, not needed where velocities are read.
enum ReadArrays : unsigned {
  kVelocityX = 1,
  kVelocities = 7,
  kForces = 8,
  kPositions = 16,
  kImages = 32,
  kEverything = 63,
  kSums = 64
};

class Readers : protected Pointers {
 public:
  explicit Readers(class LAMMPS* lmp) : Pointers(lmp) {}

  // Looks at all computes, and at these fixes.
  void find(const std::vector<Fix*>& end_of_step);

  // Whether computes, or fixes at the end of a step, may look at ghost atoms or neighbor lists.
  bool read_neighbors() const { return reads_neighbors_; }
  // What thermodynamic output, or a fix at the end of a step, may read: bits of ReadArrays. A fix
  // that does not need everything changes no more than velocities.
  unsigned of_thermo(bool has_body_forces) const;
  unsigned of(Fix* fix, bool has_body_forces) const;
  // The first step after this one in which a fix at the end of a step acts.
  static bigint next_step(Fix* fix, bigint step);
  // Whether a fix at the end of a step leaves the particles as they are.
  static bool only_reads(const Fix* fix);

 private:
  bool reads_neighbors_ = false, reads_positions_ = true;
  bool has_others_ = true;  // than energies, temperatures, pressures and chunks of positions
  unsigned of_computes_ = kVelocities;  // kSums if that is enough for temperatures and pressures
};

}  // namespace LAMMPS_NS
