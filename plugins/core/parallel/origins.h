// SPDX-License-Identifier: BSD-3-Clause
// Places of particles with given tags in the arrays of a host program's ranks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "../runtime/api.h"
#include "communicator.h"

namespace manymove {

// Place of a particle: the rank whose arrays have it, and the index in these arrays.
struct Origin {
  std::int32_t rank, index;
};

// Places of the particles with the tags `asked`. Each rank passes the tags of its own particles,
// tag[0] to tag[count - 1]. Collective. Memory and messages are proportional to a rank's own
// particles. Throws std::runtime_error on all ranks for a tag that no rank has.
MANYMOVE_API std::vector<Origin> find_origins(Communicator& communicator,
                                              const std::vector<std::uint32_t>& asked, int count,
                                              const std::uint32_t* tag);

// For each origin, value[origin.index] of the rank origin.rank. Collective. Throws
// std::runtime_error on the rank origin.rank for an index that is not below its `count`.
std::vector<std::array<double, 3>> fetch_from_origins(Communicator& communicator,
                                                      const std::vector<Origin>& origins,
                                                      const double (*value)[3], std::size_t count);

}  // namespace manymove
