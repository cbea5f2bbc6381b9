// SPDX-License-Identifier: GPL-2.0-or-later
// The pair styles of manymove in an input script.
#pragma once

#include <string>
#include <vector>

namespace LAMMPS_NS {

class PairManymoveDPD;

// All instances of pair_style manymove/dpd in the input script, also within hybrid styles.
std::vector<PairManymoveDPD*> dpd_pairs(class LAMMPS* lmp);

// Why no engine can compute the local densities of an input script; empty if an engine can, or if
// the input script needs no densities.
std::string why_no_densities(class LAMMPS* lmp);

}  // namespace LAMMPS_NS
