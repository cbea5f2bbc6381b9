// SPDX-License-Identifier: GPL-2.0-or-later
// The box of LAMMPS, its share among the ranks, the skin and the time step, as an engine has them.
#pragma once

#include "core/dpd/engine.h"

namespace LAMMPS_NS {

void describe_box(class LAMMPS* lmp, manymove::dpd::Settings& settings);

}  // namespace LAMMPS_NS
