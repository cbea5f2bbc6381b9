// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "../parallel/communicator.h"
#include "state.h"

namespace manymove::hard_particles {

// What a slot takes in a message: a position and an identity.
inline constexpr std::size_t kSlotBytes = sizeof(Position) + sizeof(std::int32_t);

// The ranks of the strips below and above, around the box.
inline int below(const Communicator& c) { return (c.rank() + c.ranks() - 1) % c.ranks(); }
inline int above(const Communicator& c) { return (c.rank() + 1) % c.ranks(); }

// Messages to below and above, then from below and above. Two ranks are neighbors at both edges:
// what one sends below comes from above first.
inline void exchange(Communicator& ranks, std::vector<std::byte> message[4]) {
  const auto with = [&](int rank, int k) {
    return Communicator::Message{rank, message[k].data(), message[k].size()};
  };
  const int down = below(ranks), up = above(ranks);
  try {
    ranks.exchange({with(down, 0), with(up, 1)}, {with(up, 3), with(down, 2)});
  } catch (...) {
    keep_for_ever(message[0], message[1], message[2], message[3]);
    throw;
  }
}

// The strip of this rank of what rank 0 has, where `whole` is not null. `edges`: first_strips().
// Collective.
Snapshot deal_out(Communicator& ranks, const Snapshot* whole, const std::vector<int>& edges);

// Answers for all ranks together. `make` returns the engine that moves the disks of this rank and
// counts those, and sets `whole` to its state without the disks. Collective.
std::unique_ptr<Engine> make_distributed_engine(
    Communicator& ranks, const std::function<std::unique_ptr<Engine>(State& whole)>& make);

}  // namespace manymove::hard_particles
