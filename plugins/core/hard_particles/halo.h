// SPDX-License-Identifier: BSD-3-Clause
// Rows of strips (strip.h) on their way from rank to rank through the memory of the hosts.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <vector>

#include "../parallel/communicator.h"
#include "strip.h"

namespace manymove::hard_particles {

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

// What is in a strip's local storage: two or three arrays (positions and identities, or particles,
// their numbers in the cells and with swap moves their diameters), of each its start and its bytes
// in a row of cells, which are 0 of an array that is not there.
struct RowArray {
  void* data;
  std::size_t row;
};
using RowArrays = std::array<RowArray, 3>;

// Sends rows of a strip, which had `rows` of them, to the neighbors and takes theirs into the
// margins. `message` keeps its memory for the next time. Collective.
inline void exchange_halo(Communicator& ranks, const HaloRows& c, int margin, int rows,
                          const RowArrays& arrays, std::vector<std::byte> message[4]) {
  const auto copy = [&](std::vector<std::byte>& buffer, int first, int count, bool out) {
    std::byte* there = buffer.data();
    for (const RowArray& array : arrays) {
      std::byte* const here =
          static_cast<std::byte*>(array.data) + static_cast<std::size_t>(first) * array.row;
      const std::size_t bytes = static_cast<std::size_t>(count) * array.row;
      if (bytes) std::memcpy(out ? there : here, out ? here : there, bytes);
      there += bytes;
    }
  };
  const int counts[4] = {c.to_below, c.to_above, c.from_below, c.from_above};
  std::size_t bytes = 0;
  for (const RowArray& array : arrays) bytes += array.row;
  for (int k = 0; k < 4; ++k) message[k].resize(static_cast<std::size_t>(counts[k]) * bytes);
  // The strip's own rows begin behind the lower margin.
  copy(message[0], margin, c.to_below, true);
  copy(message[1], margin + rows - c.to_above, c.to_above, true);
  exchange(ranks, message);
  copy(message[2], margin - c.from_below, c.from_below, false);
  copy(message[3], margin + rows, c.from_above, false);
}

}  // namespace manymove::hard_particles
