// SPDX-License-Identifier: BSD-3-Clause
// What ranks tell each other before lists are built, or at the end of a run.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "../../../parallel/communicator.h"
#include "../../engine_base.h"

namespace manymove::dpd {

struct RebuildVote {
  std::int64_t expired, segment;  // the latter: largest, bytes
  std::uint32_t lost, beyond, missing, strayed, wanted, soonest, stop;
};

// The first that expired, with the particle it lost, the soonest, and the largest of the rest.
// Collective.
inline RebuildVote of_all_ranks(Communicator& communicator, std::size_t ranks,
                                const RebuildVote& mine) {
  std::vector<RebuildVote> all(ranks);
  communicator.gather(&mine, all.data(), sizeof mine);
  RebuildVote most{};
  most.expired = kNever;
  most.soonest = ~0u;
  for (const RebuildVote& vote : all) most.expired = std::min(most.expired, vote.expired);
  for (const RebuildVote& vote : all) {
    if (vote.expired == most.expired) most.lost = std::max(most.lost, vote.lost);
    most.beyond = std::max(most.beyond, vote.beyond);
    most.missing = std::max(most.missing, vote.missing);
    most.strayed |= vote.strayed;
    most.wanted = std::max(most.wanted, vote.wanted);
    most.soonest = std::min(most.soonest, vote.soonest);
    most.stop |= vote.stop;
    most.segment = std::max(most.segment, vote.segment);
  }
  return most;
}

}  // namespace manymove::dpd
