// SPDX-License-Identifier: BSD-3-Clause
// Where host programs have the particles with certain tags.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "../runtime/api.h"
#include "communicator.h"

namespace manymove {

// Where a particle is in the arrays of the host programs: of this rank, at this index.
struct Origin {
  std::int32_t rank, index;
};

// Where the particles with these tags are, if rank r has tag[0] to tag[count - 1] of its call; all
// ranks call it. Memory and messages are proportional to a rank's own particles. Throws
// std::runtime_error on all ranks for a tag that no rank has.
MANYMOVE_API std::vector<Origin> find_origins(Communicator& communicator,
                                              const std::vector<std::uint32_t>& asked, int count,
                                              const std::uint32_t* tag);

// value[origin.index] of the rank origin.rank, for each of the origins. Collective. Throws
// std::runtime_error, on the rank that is asked, for an index beyond its `count` values.
std::vector<std::array<double, 3>> fetch_from_origins(Communicator& communicator,
                                                      const std::vector<Origin>& origins,
                                                      const double (*value)[3], std::size_t count);

}  // namespace manymove
