// SPDX-License-Identifier: GPL-2.0-or-later
#include "mpi_communicator.h"

int LAMMPS_NS::rank_on_host(MPI_Comm world) {
  MPI_Comm host;
  int rank;
  MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  MPI_Comm_rank(host, &rank);
  MPI_Comm_free(&host);
  return rank;
}
