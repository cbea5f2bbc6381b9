// SPDX-License-Identifier: GPL-2.0-or-later
// Velocities of a few atoms that have the kinetic energies and stresses of all.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "atom.h"

namespace LAMMPS_NS {

// Gives three atoms of these masses velocities with these sums of m v_a v_b, in the order xx, yy,
// zz, xy, xz, yz: the columns of the Cholesky factor of the sums.
inline void set_velocities(const std::array<double, 6>& sums, const double mass[3],
                           double* const v[3]) {
  const auto root = [](double square) { return std::sqrt(std::max(square, 0.0)); };
  const auto over = [](double a, double b) { return b > 0 ? a / b : 0.0; };
  const double xx = root(sums[0]), yx = over(sums[3], xx), zx = over(sums[4], xx),
               yy = root(sums[1] - yx * yx), zy = over(sums[5] - zx * yx, yy),
               zz = root(sums[2] - zx * zx - zy * zy);
  const double column[3][3] = {{xx, yx, zx}, {0, yy, zy}, {0, 0, zz}};
  for (int k = 0; k < 3; ++k)
    for (int a = 0; a < 3; ++a) v[k][a] = column[k][a] / std::sqrt(mass[k]);
}

// While it lives, LAMMPS' velocities are zero but for the first three atoms of one rank, which have
// the sums of all atoms. rows: memory, kept from one time to the next; all but the first three are
// the same.
class VelocitiesOfSums {
 public:
  VelocitiesOfSums(Atom* atom, const std::array<double, 6>& sums, bool here,
                   std::vector<double*>& rows)
      : atom_(atom), own_(atom->v) {
    rows.assign(static_cast<std::size_t>(std::max(atom->nlocal, 1)), row_[3]);
    for (int k = 0; k < std::min(atom->nlocal, 3); ++k) rows[static_cast<std::size_t>(k)] = row_[k];
    if (here) {
      double mass[3];
      for (int k = 0; k < 3; ++k)
        mass[k] = atom->rmass ? atom->rmass[k] : atom->mass[atom->type[k]];
      set_velocities(sums, mass, rows.data());
    }
    atom->v = rows.data();
  }
  ~VelocitiesOfSums() { atom_->v = own_; }
  VelocitiesOfSums(const VelocitiesOfSums&) = delete;

 private:
  Atom* const atom_;
  double** const own_;
  double row_[4][3] = {};
};

}  // namespace LAMMPS_NS
