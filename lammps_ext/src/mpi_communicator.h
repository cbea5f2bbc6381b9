// SPDX-License-Identifier: GPL-2.0-or-later
// The ranks of LAMMPS for the engines of the core, and errors of the phases that they enter
// together.
#pragma once

#include <exception>
#include <string>

#include "core/parallel/mpi_host.h"
#include "pointers.h"

namespace LAMMPS_NS {

using MpiCommunicator = manymove::HostCommunicator;

// Makes the text an error of LAMMPS: one of all ranks, or an abort if some rank does not answer.
[[noreturn]] void report(LAMMPS* lmp, const std::string& text, bool everyone);

// Runs a phase that all ranks enter together and leave with the same error, if there is one. The
// error becomes one of LAMMPS. what: the beginning of its message.
auto reported(LAMMPS* lmp, const std::string& what, auto&& phase) {
  std::string text;
  bool everyone = true;
  try {
    return phase();
  } catch (const manymove::RankFailure& failure) {
    text = failure.what();
    everyone = failure.everyone;
  } catch (const std::exception& failure) {
    text = failure.what();
  }
  report(lmp, what + ": " + text, everyone);
}

// All ranks of LAMMPS, which are watched from the first call on (heartbeat.h). Collective. An error
// of LAMMPS if they run different versions of manymove.
MpiCommunicator communicator_of(LAMMPS* lmp);

// "0-1 on node1, 2-3 on node2", or empty if all ranks are on one host. Collective.
std::string ranks_by_host(MpiCommunicator& communicator);

}  // namespace LAMMPS_NS
