// SPDX-License-Identifier: GPL-2.0-or-later
// The ranks of LAMMPS for the engines of the core.
#pragma once

#include <string>

#include "core/common/mpi_channel.h"

namespace LAMMPS_NS {

using manymove::MpiCommunicator;

// This rank's number among those of its host.
int rank_on_host(MPI_Comm world);

// Ends the run with an error of all ranks. everyone: all ranks make this call; otherwise a rank may
// not answer, and LAMMPS aborts the job.
[[noreturn]] void end_run(class LAMMPS* lmp, const std::string& message, bool everyone);

}  // namespace LAMMPS_NS
