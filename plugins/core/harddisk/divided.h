// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "../common/communicator.h"
#include "state.h"

namespace manymove::harddisk {

// What a slot takes in a message: a position and an identity.
inline constexpr std::size_t kSlotBytes = sizeof(Position) + sizeof(std::int32_t);

// Messages to below and above, then from below and above.
inline void exchange(RankRing& ranks, std::vector<std::byte> message[4]) {
  RankRing::Bytes bytes[4];
  for (int k = 0; k < 4; ++k) bytes[k] = {message[k].data(), message[k].size()};
  try {
    ranks.exchange(bytes, bytes + 2);
  } catch (...) {
    keep_for_ever(message[0], message[1], message[2], message[3]);
    throw;
  }
}

// Answers for all ranks together. `make` returns the engine that moves the disks of this rank and
// counts those, and sets `whole` to its state without the disks. Collective.
std::unique_ptr<Engine> make_divided_engine(
    RankRing& ranks, const std::function<std::unique_ptr<Engine>(State& whole)>& make);

}  // namespace manymove::harddisk
