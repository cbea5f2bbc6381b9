// SPDX-License-Identifier: BSD-3-Clause
// Ghosts on CPUs: copies of the particles near the parts of other ranks.
#pragma once

#include <vector>

#include "../../parallel/communicator.h"
#include "../../runtime/parallel_for.h"
#include "../settings.h"

namespace manymove::dpd {

class GhostExchange {
 public:
  // Sends Ghost ghost_of(i) of each of the rank's particles i below `count` that is within the
  // reach of another rank, and returns those that come, in the order of the ranks. ghost_of(i) has
  // a position. Collective, like update().
  template <class Ghost, class GhostOf>
  std::vector<Ghost> find(const BrickDecomposition& ranks, int count, const GhostOf& ghost_of) {
    std::vector<std::vector<Ghost>> leaving(static_cast<std::size_t>(ranks.ranks()));
    border_.clear();
    to_.assign(leaving.size(), 0);
    for (const int other : ranks.neighbors()) {
      const auto r = static_cast<std::size_t>(other);
      for (int i = 0; i < count; ++i) {
        const Ghost ghost = ghost_of(i);
        const auto& p = ghost.position;
        if (!is_in(ranks.reached()[r], high_word(p.x), high_word(p.y), high_word(p.z))) continue;
        border_.push_back(i);
        leaving[r].push_back(ghost);
      }
      to_[r] = static_cast<std::int64_t>(leaving[r].size());
    }
    std::vector<Ghost> arrived = deliver(ranks.communicator(), std::move(leaving), &from_);
    checked_count(static_cast<std::int64_t>(count) + static_cast<std::int64_t>(arrived.size()));
    ghost_.resize(arrived.size());
    return arrived;
  }
  // The ghosts are in this order behind the rank's `count` particles.
  void place(int count, const std::vector<std::uint32_t>& order) {
    for (std::size_t k = 0; k < order.size(); ++k) ghost_[order[k]] = count + static_cast<int>(k);
  }

  // Sends Value value_of(i) of each particle that has been sent, and calls take(i, value) with the
  // value of each ghost, in threads.
  template <class Value, class ValueOf, class Take>
  void update(ThreadPool& pool, const BrickDecomposition& ranks, const ValueOf& value_of,
              const Take& take) const {
    std::vector<Value> leaving(border_.size()), arrived(ghost_.size());
    for_each_index(pool, static_cast<int>(leaving.size()),
                   [&](int k) { leaving[k] = value_of(border_[k]); });
    exchange(ranks, leaving, arrived);
    for_each_index(pool, static_cast<int>(arrived.size()),
                   [&](int k) { take(ghost_[k], arrived[k]); });
  }

 private:
  template <class Value>
  void exchange(const BrickDecomposition& ranks, std::vector<Value>& leaving,
                std::vector<Value>& arrived) const {
    std::vector<Communicator::Message> out, in;
    Value *to = leaving.data(), *from = arrived.data();
    for (int r = 0; r < ranks.ranks(); ++r) {
      const auto sent = static_cast<std::size_t>(to_[r]),
                 received = static_cast<std::size_t>(from_[r]);
      if (sent) out.push_back({r, to, sent * sizeof *to});
      if (received) in.push_back({r, from, received * sizeof *from});
      to += sent;
      from += received;
    }
    exchange_messages(ranks.communicator(), out, in, leaving, arrived);
  }

  std::vector<int> border_;              // whose copies go to other ranks, in their order
  std::vector<std::int64_t> to_, from_;  // so many
  std::vector<int> ghost_;               // where those are that come, in that order
};

}  // namespace manymove::dpd
