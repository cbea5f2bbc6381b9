// SPDX-License-Identifier: GPL-2.0-or-later
// Fixes of LAMMPS whose parameters are found by what they do to the atoms of a rank, which are as
// before afterwards.
#pragma once

#include <vector>

#include "translation/refusals.h"

namespace LAMMPS_NS {

// The friction of fix viscous by LAMMPS' type, [types + 1]; zero for types without atoms in its
// group. Empty if the fix does anything else. Collective.
std::vector<double> friction_of_viscous(class LAMMPS* lmp, class Fix* fix, const Refusals& ranks);

// The velocity that fix move gives to its group, for linear motion in which no component is NULL.
// Empty for any other motion, and for a group without atoms. Collective.
std::vector<double> velocity_of_move(class LAMMPS* lmp, class Fix* fix, const Refusals& ranks);

}  // namespace LAMMPS_NS
