// SPDX-License-Identifier: GPL-2.0-or-later
#include "mpi_communicator.h"

#include <chrono>
#include <cstdio>
#include <thread>

#include "comm.h"
#include "error.h"
#include "lammps.h"

using namespace LAMMPS_NS;

void LAMMPS_NS::report(LAMMPS* lmp, const std::string& text, bool everyone) {
  if (everyone) lmp->error->all(FLERR, text);
  // LAMMPS aborts all ranks at once, and the launcher may end before it has passed on the message.
  std::fprintf(stderr, "ERROR on proc %d: %s\n", lmp->comm->me, text.c_str());
  std::fflush(stderr);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  lmp->error->one(FLERR, text);
}

MpiCommunicator LAMMPS_NS::communicator_of(LAMMPS* lmp) {
  return reported(lmp, "Package manymove", [&] { return MpiCommunicator(lmp->world); });
}
