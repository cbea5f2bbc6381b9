// SPDX-License-Identifier: BSD-3-Clause
#include "Peers.h"

#include <hoomd/ExecutionConfiguration.h>

#if defined(ENABLE_MPI)
#include "core/parallel/mpi_host.h"
#endif

namespace manymove::host {

std::unique_ptr<Communicator> peers_of(const hoomd::ExecutionConfiguration& configuration) {
#if defined(ENABLE_MPI)
  if (configuration.getNRanks() > 1)
    return std::make_unique<HostCommunicator>(configuration.getMPICommunicator());
#endif
  (void)configuration;
  return nullptr;
}

}  // namespace manymove::host
