// SPDX-License-Identifier: GPL-2.0-or-later
#include "mpi_communicator.h"

#include <chrono>
#include <cstdio>
#include <thread>

#include "comm.h"
#include "error.h"
#include "lammps.h"

int LAMMPS_NS::rank_on_host(MPI_Comm world) {
  MPI_Comm host;
  int rank;
  MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  MPI_Comm_rank(host, &rank);
  MPI_Comm_free(&host);
  return rank;
}

void LAMMPS_NS::end_run(LAMMPS* lmp, const std::string& message, bool everyone) {
  if (everyone) lmp->error->all(FLERR, message);
  // LAMMPS aborts all ranks at once, and the launcher may end before it has passed on the message.
  std::fprintf(stderr, "ERROR on proc %d: %s\n", lmp->comm->me, message.c_str());
  std::fflush(stderr);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  lmp->error->one(FLERR, message);
}
