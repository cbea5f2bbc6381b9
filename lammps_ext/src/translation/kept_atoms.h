// SPDX-License-Identifier: GPL-2.0-or-later
// Fixes are tried on the atoms of LAMMPS, which are restored after that.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "atom.h"
#include "fix.h"

namespace LAMMPS_NS {

// Arrays and images of the atoms, which are restored at the end of the scope.
class KeptAtoms {
 public:
  KeptAtoms(const Atom* atom, std::vector<double**> arrays)
      : image_(atom->image, atom->image + atom->nlocal),
        own_image_(atom->image),
        arrays_(std::move(arrays)) {
    for (double** const array : arrays_) before_.push_back(now(array));
  }
  ~KeptAtoms() {
    for (std::size_t k = 0; k < arrays_.size(); ++k)
      std::ranges::copy(before_[k], begin(arrays_[k]));
    std::ranges::copy(image_, own_image_);
  }
  KeptAtoms(const KeptAtoms&) = delete;

  // The kth array as it was, and an array as it is, [3 nlocal].
  const std::vector<double>& before(std::size_t k) const { return before_[k]; }
  std::vector<double> now(double** array) const {
    return {begin(array), begin(array) + 3 * image_.size()};
  }
  void fill(double** array, double value) const {
    std::fill_n(begin(array), 3 * image_.size(), value);
  }

 private:
  double* begin(double** array) const { return image_.empty() ? nullptr : array[0]; }

  const std::vector<imageint> image_;
  imageint* const own_image_;
  const std::vector<double**> arrays_;
  std::vector<std::vector<double>> before_;
};

// The result of `look` while the first atom is in the group of the fix only, at the position to
// which `place` moves it.
bool with_first_atom(const Atom* atom, const Fix* fix, const auto& place, const auto& look) {
  double home[3];
  std::copy_n(atom->x[0], 3, home);
  place(atom->x[0]);
  const int mask = std::exchange(atom->mask[0], fix->groupbit);
  const bool found = look();
  std::copy_n(home, 3, atom->x[0]);
  atom->mask[0] = mask;
  return found;
}

}  // namespace LAMMPS_NS
