// SPDX-License-Identifier: GPL-2.0-or-later
// The ranks of LAMMPS for the engines of the core.
#pragma once

#include "core/common/mpi_host.h"

namespace LAMMPS_NS {

using MpiCommunicator = manymove::HostCommunicator;

// This rank's number among those of its host.
int rank_on_host(MPI_Comm world);

}  // namespace LAMMPS_NS
