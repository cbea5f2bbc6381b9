// SPDX-License-Identifier: BSD-3-Clause
// Brings values by tag from the ranks that have them to the ranks that need them, where neither
// knows the other: tags are divided evenly among the ranks, and each keeps the values of its share
// in between.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "communicator.h"

namespace manymove {

// All calls but bring() are collective. A rank's memory grows with the tags that it brings, asks
// for or keeps, and with the number of ranks, never with the number of all tags. Value is trivially
// copyable.
template <class Value>
class Rendezvous {
 public:
  // Tags are below `tags`. The communicator must outlive this object.
  Rendezvous(Communicator& communicator, std::size_t tags)
      : communicator_(communicator),
        ranks_(static_cast<std::size_t>(communicator.ranks())),
        share_((tags + ranks_ - 1) / ranks_),
        brought_(ranks_) {}

  void bring(std::uint32_t tag, const Value& value) {
    brought_[tag / share_].push_back({tag, value});
  }

  // Sends what was brought to the ranks that keep it.
  void exchange() {
    const std::size_t first = share_ * static_cast<std::size_t>(communicator_.rank());
    kept_.assign(share_, Value{});
    for (const Item& item : deliver(communicator_, brought_)) kept_[item.tag - first] = item.value;
    brought_.assign(ranks_, {});
  }

  // The values of `number` tags, in their order. Each must have been brought by some rank before
  // the last exchange().
  std::vector<Value> fetch(const std::uint32_t* tags, std::size_t number) const {
    const std::size_t first = share_ * static_cast<std::size_t>(communicator_.rank());
    std::vector<std::vector<std::uint32_t>> wanted(ranks_);
    for (std::size_t i = 0; i < number; ++i) wanted[tags[i] / share_].push_back(tags[i]);
    std::vector<std::int64_t> asked_by;
    const std::vector<std::uint32_t> asked = deliver(communicator_, wanted, &asked_by);
    std::vector<std::vector<Value>> answers(ranks_);
    auto tag = asked.begin();
    for (std::size_t r = 0; r < ranks_; ++r)
      for (std::int64_t k = 0; k < asked_by[r]; ++k) answers[r].push_back(kept_[*tag++ - first]);
    const std::vector<Value> found = deliver(communicator_, answers);

    // Answers come by rank, and from each in the order of the questions.
    std::vector<std::size_t> next(ranks_);
    for (std::size_t r = 1; r < ranks_; ++r) next[r] = next[r - 1] + wanted[r - 1].size();
    std::vector<Value> values(number);
    for (std::size_t i = 0; i < number; ++i) values[i] = found[next[tags[i] / share_]++];
    return values;
  }

 private:
  struct Item {
    std::uint32_t tag;
    Value value;
  };

  Communicator& communicator_;
  std::size_t ranks_, share_;
  std::vector<std::vector<Item>> brought_;  // by the rank that keeps it
  std::vector<Value> kept_;                 // of this rank's share
};

}  // namespace manymove
