// SPDX-License-Identifier: BSD-3-Clause
// The MPI ranks of a HOOMD-blue partition.
#pragma once

#include <memory>

#include "core/parallel/communicator.h"

namespace hoomd {
class ExecutionConfiguration;
}

namespace manymove::host {

// Null in a build of HOOMD-blue without MPI, and where there is one rank. Collective; from the
// first call on the ranks are watched (heartbeat.h), and a notice says where they are if that is on
// several hosts. Throws std::runtime_error on all ranks if they run different versions.
std::unique_ptr<Communicator> peers_of(const hoomd::ExecutionConfiguration& configuration);

}  // namespace manymove::host
