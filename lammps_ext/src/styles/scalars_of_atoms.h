// SPDX-License-Identifier: GPL-2.0-or-later
// Scalars of LAMMPS' atom styles edpd (temperature and heat capacity) and tdpd (concentrations) as
// an engine has them.
#pragma once

#include <array>
#include <vector>

#include "atom.h"
#include "core/dpd/pair_forces.h"

namespace LAMMPS_NS {

using ScalarArrays = std::vector<std::array<double, manymove::dpd::kScalars>>;

// The k-th scalar of atom i, or its flux; null if there is none.
inline double* scalar_of_atom(const Atom& atom, int i, int k, bool flux) {
  if (!atom.edpd_flag)
    return k < atom.cc_species ? (flux ? atom.cc_flux : atom.cc)[i] + k : nullptr;
  if (k == 1 && !flux) return atom.edpd_cv + i;
  return k == 0 ? (flux ? atom.edpd_flux : atom.edpd_temp) + i : nullptr;
}

// Calls visit(value of LAMMPS, value of ours) for those of the first `count` atoms.
inline void for_each_scalar(const Atom& atom, int count, bool flux, ScalarArrays& ours,
                            const auto& visit) {
  ours.resize(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i)
    for (int k = 0; k < manymove::dpd::kScalars; ++k)
      if (double* const value = scalar_of_atom(atom, i, k, flux))
        visit(*value, ours[static_cast<std::size_t>(i)][static_cast<std::size_t>(k)]);
}
inline void read_scalars(const Atom& atom, int count, bool flux, ScalarArrays& to) {
  for_each_scalar(atom, count, flux, to, [](double theirs, double& mine) { mine = theirs; });
}
inline void write_scalars(const Atom& atom, int count, bool flux, ScalarArrays& from) {
  for_each_scalar(atom, count, flux, from, [](double& theirs, double mine) { theirs = mine; });
}
inline double (*pointer_to(ScalarArrays& values))[manymove::dpd::kScalars] {
  return reinterpret_cast<double (*)[manymove::dpd::kScalars]>(values.data());
}

}  // namespace LAMMPS_NS
