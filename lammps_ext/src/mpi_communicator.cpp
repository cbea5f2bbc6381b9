// SPDX-License-Identifier: GPL-2.0-or-later
#include "mpi_communicator.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "comm.h"
#include "core/parallel/heartbeat.h"
#include "core/runtime/build.h"
#include "error.h"
#include "lammps.h"

using namespace LAMMPS_NS;

void LAMMPS_NS::report(LAMMPS* lmp, const std::string& text, bool everyone) {
  if (everyone) lmp->error->all(FLERR, text);
  // LAMMPS aborts all ranks at once, and the launcher may end before it has passed on the message.
  std::fprintf(stderr, "ERROR on proc %d: %s\n", lmp->comm->me, text.c_str());
  std::fflush(stderr);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  // MPI_Abort returns where the launcher cannot be reached, and LAMMPS would then wait for the
  // other ranks without a limit. A program that uses it as a library has this time to write what is
  // left.
  std::thread([me = lmp->comm->me, limit = manymove::Watchdog::timeout()] {
    std::this_thread::sleep_for(std::chrono::duration<double>(limit));
    std::fprintf(stderr, "ERROR on proc %d: the launcher has not ended this process: it ends\n",
                 me);
    std::_Exit(1);
  }).detach();
  lmp->error->one(FLERR, text);
}

namespace {

std::string meet(MpiCommunicator& communicator) {
  const std::string version = std::string("manymove ") + manymove_core_build();
  return manymove::meet(communicator, version.c_str(), [] { MPI_Abort(MPI_COMM_WORLD, 1); });
}

}  // namespace

MpiCommunicator LAMMPS_NS::communicator_of(LAMMPS* lmp) {
  return reported(lmp, "Package manymove", [&] {
    MpiCommunicator communicator(lmp->world);
    meet(communicator);
    return communicator;
  });
}

std::string LAMMPS_NS::ranks_by_host(MpiCommunicator& communicator) { return meet(communicator); }
