// SPDX-License-Identifier: GPL-2.0-or-later
// LAMMPS' fixes indent, wall/region, wall/harmonic, wall/lj93 and wall/lj126 as surfaces of an
// engine. What is read from their members is compared with what the fixes do.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "core/dpd/engine.h"
#include "pointers.h"
#include "translation/refusals.h"
#include "translation/step_variables.h"

namespace LAMMPS_NS {

class Fix;
class Region;

class SurfaceFixes : protected Pointers {
 public:
  explicit SurfaceFixes(class LAMMPS* lmp) : Pointers(lmp), variables_(lmp) {}

  // Takes a fix if it is one of those above, and returns whether it is. What no engine serves is
  // appended to the refusals.
  bool take(Fix* fix, Refusals& refusals);
  // Adds the fixes whose forces differ from what was read to the refusals. Not collective.
  void check(Refusals& refusals);

  bool any() const { return !parts_.empty(); }
  // Whether a plane for all atoms closes a face of the box.
  bool closes(int axis, bool high) const;

  // Whether surfaces change from step to step. evaluate() makes them those of the present step.
  bool has_series() const;
  void evaluate();
  // Appends the center and the radius of each surface.
  void add_to_series(std::vector<double>& values) const;

  // Adds the force on local atom i where it is now.
  void add_force(int i, double sum[3]) const;
  // flag_of(groupbit): the flag of the particles of a group.
  void describe(manymove::dpd::Settings& settings,
                const std::function<std::uint32_t(int)>& flag_of) const;

 private:
  struct Part {
    Fix* fix;
    manymove::dpd::Surface surface;
    double inside[3];                             // a point among the particles
    std::array<int, 4> variable{-1, -1, -1, -1};  // of the center and the radius; -1: constant
  };

  std::string why_not_indenter(Fix* fix);
  std::string why_not_walls(Fix* fix);
  std::string why_not_region(Fix* fix);
  std::string add_region(const Part& like, Region& region);
  void add_block(const Part& like, const Region& region, unsigned axes);
  Part part_in_box(Fix* fix) const;
  void add_force_of(const Part& part, const double x[3], double sum[3]) const;
  // Puts x where a surface acts and LAMMPS accepts an atom. Whether there is such a place.
  bool find_place(const Part& part, double x[3]) const;
  bool is_behind(const Fix* fix, const double x[3]) const;
  bool acts_as_read(Fix* fix) const;

  const StepVariables variables_;
  std::vector<Part> parts_;
};

}  // namespace LAMMPS_NS
