// SPDX-License-Identifier: BSD-3-Clause
#include "Peers.h"

#include <hoomd/ExecutionConfiguration.h>

#if defined(ENABLE_MPI)
#include <string>

#include "core/parallel/heartbeat.h"
#include "core/parallel/mpi_host.h"
#endif

namespace manymove::host {

std::unique_ptr<Communicator> peers_of(const hoomd::ExecutionConfiguration& configuration) {
#if defined(ENABLE_MPI)
  if (configuration.getNRanks() > 1) {
    auto peers = std::make_unique<HostCommunicator>(configuration.getMPICommunicator());
    const std::string hosts =
        meet(*peers, "hoomd.manymove " MANYMOVE_VERSION, [] { MPI_Abort(MPI_COMM_WORLD, 1); });
    if (!hosts.empty())
      configuration.msg->notice(2)
          << "hoomd.manymove: messages travel through MPI; ranks " << hosts << "\n";
    return peers;
  }
#endif
  (void)configuration;
  return nullptr;
}

}  // namespace manymove::host
