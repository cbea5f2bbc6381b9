// SPDX-License-Identifier: BSD-3-Clause
// Brings values by tag from the ranks that have them to the ranks that need them, where neither
// knows the other: tags are divided evenly among the ranks, and each keeps the values of its share
// in between.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "../runtime/api.h"
#include "communicator.h"

namespace manymove {

// The error of a Rendezvous that a tag causes.
[[noreturn]] MANYMOVE_API void throw_no_tag(std::uint32_t tag, std::size_t tags);

// All calls but bring() are collective. A rank's memory grows with the tags that it brings, asks
// for or keeps, and with the number of ranks, never with the number of all tags. Value is trivially
// copyable. A tag that does not exist is a std::runtime_error of the rank that finds it, also where
// another rank sends it; collective() makes it one of all ranks.
template <class Value>
class Rendezvous {
 public:
  // Tags are below `tags`. The communicator must outlive this object.
  Rendezvous(Communicator& communicator, std::size_t tags)
      : communicator_(communicator),
        tags_(tags),
        ranks_(static_cast<std::size_t>(communicator.ranks())),
        share_((tags + ranks_ - 1) / ranks_),
        brought_(ranks_) {}

  void bring(std::uint32_t tag, const Value& value) {
    brought_[static_cast<std::size_t>(keeper_of(tag))].push_back({tag, value});
  }

  // Sends what was brought to the ranks that keep it.
  void exchange() {
    kept_.assign(share_, Value{});
    for (const Item& item : deliver(communicator_, std::move(brought_)))
      kept_[place_of(item.tag)] = item.value;
    brought_.assign(ranks_, {});
  }

  // The values of `number` tags, in their order. Each must have been brought by some rank before
  // the last exchange().
  std::vector<Value> fetch(const std::uint32_t* tags, std::size_t number) const {
    const std::vector<std::uint32_t> wanted(tags, tags + number);
    std::vector<std::int32_t> keepers;
    for (const std::uint32_t tag : wanted) keepers.push_back(keeper_of(tag));
    return ask<Value>(communicator_, keepers, wanted,
                      [&](std::uint32_t tag) { return kept_[place_of(tag)]; });
  }

 private:
  struct Item {
    std::uint32_t tag;
    Value value;
  };

  std::int32_t keeper_of(std::uint32_t tag) const {
    if (tag >= tags_) throw_no_tag(tag, tags_);
    return static_cast<std::int32_t>(tag / share_);
  }
  // The place of a tag that this rank keeps.
  std::size_t place_of(std::uint32_t tag) const {
    if (keeper_of(tag) != communicator_.rank()) throw_no_tag(tag, tags_);
    return tag % share_;
  }

  Communicator& communicator_;
  std::size_t tags_, ranks_, share_;
  std::vector<std::vector<Item>> brought_;  // by the rank that keeps it
  std::vector<Value> kept_;                 // of this rank's share
};

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
