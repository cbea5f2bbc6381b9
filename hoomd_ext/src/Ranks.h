// SPDX-License-Identifier: BSD-3-Clause
// The MPI ranks of a HOOMD-blue partition, as the engine reaches them.
#pragma once

#include <memory>

#include "core/harddisk/engine.h"

namespace hoomd {
class ExecutionConfiguration;
}

namespace manymove::host {

// Null in a build of HOOMD-blue without MPI, and where there is one rank.
std::shared_ptr<harddisk::RankRing> ranks_of(const hoomd::ExecutionConfiguration& configuration);

}  // namespace manymove::host
