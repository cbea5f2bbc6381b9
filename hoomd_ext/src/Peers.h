// SPDX-License-Identifier: BSD-3-Clause
// The MPI ranks of a HOOMD-blue partition.
#pragma once

#include <memory>

#include "core/parallel/communicator.h"

namespace hoomd {
class ExecutionConfiguration;
}

namespace manymove::host {

// Null in a build of HOOMD-blue without MPI, and where there is one rank.
std::unique_ptr<Communicator> peers_of(const hoomd::ExecutionConfiguration& configuration);

}  // namespace manymove::host
