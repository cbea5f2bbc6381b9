// SPDX-License-Identifier: BSD-3-Clause
// What ranks exchange before lists are built, or at the end of a run.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "../../../parallel/communicator.h"
#include "../../engine_base.h"

namespace manymove::dpd {

constexpr std::int64_t kMostSteps = 100;  // between builds
// Number of steps between builds. The first particle will leave its sphere `soonest` steps (bits of
// a float) after the `steps` that were taken since the last build.
inline std::int64_t steps_of_lists(std::int64_t steps, unsigned soonest) {
  constexpr float kSlack = 0.15f;  // of a step, for the forces in the two steps until a build
  const auto most = static_cast<float>(steps + 1);
  const float more = std::clamp(as_float(soonest) - kSlack, 0.0f, most);
  return std::min(steps + 1 + static_cast<std::int64_t>(more), kMostSteps);
}

struct RebuildVote {
  std::int64_t expired, segment;  // the latter: largest, bytes
  MissingPartners missing;
  std::uint32_t lost, beyond, strayed, wanted, soonest, stop;
};

// The first that expired, with the particle it lost, the soonest, and the largest of the rest.
// Collective.
inline RebuildVote of_all_ranks(Communicator& communicator, const RebuildVote& mine) {
  const std::vector<RebuildVote> all = communicator.gathered(mine);
  RebuildVote most{};
  most.expired = kNever;
  most.soonest = ~0u;
  for (const RebuildVote& vote : all) most.expired = std::min(most.expired, vote.expired);
  for (const RebuildVote& vote : all) {
    if (vote.expired == most.expired) most.lost = std::max(most.lost, vote.lost);
    most.beyond = std::max(most.beyond, vote.beyond);
    for (int k = 0; k < 2; ++k)
      most.missing.tag[k] = std::max(most.missing.tag[k], vote.missing.tag[k]);
    most.strayed |= vote.strayed;
    most.wanted = std::max(most.wanted, vote.wanted);
    most.soonest = std::min(most.soonest, vote.soonest);
    most.stop |= vote.stop;
    most.segment = std::max(most.segment, vote.segment);
  }
  return most;
}

}  // namespace manymove::dpd
