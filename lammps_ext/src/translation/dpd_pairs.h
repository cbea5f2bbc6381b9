// SPDX-License-Identifier: GPL-2.0-or-later
// The pair styles of manymove in an input script.
#pragma once

#include <string>
#include <vector>

namespace LAMMPS_NS {

class Pair;
class PairManymoveDPD;

// All instances of pair_style manymove/dpd in the input script, also within hybrid styles.
std::vector<PairManymoveDPD*> dpd_pairs(class LAMMPS* lmp);

// Whether a pair style is manymove/mdpd, by either of its names.
bool has_many_body_style(class LAMMPS* lmp);

// Why no engine can compute the local densities that a pair style needs; empty if an engine can, or
// if the style needs none.
std::string why_no_densities(class LAMMPS* lmp, const Pair* pair);

}  // namespace LAMMPS_NS
