// SPDX-License-Identifier: BSD-3-Clause
// What ranks that have the same ions compute in shares: each rank its part of a range of indices,
// after which all of them have the values of all. On one rank the part is the whole range.
#pragma once

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "../../parallel/communicator.h"
#include "kernels.h"

namespace manymove::coulomb {

class Shares {
 public:
  explicit Shares(Communicator* ranks) : ranks_(ranks) {}

  bool alone() const { return !ranks_; }
  int rank() const { return ranks_ ? ranks_->rank() : 0; }
  int ranks() const { return ranks_ ? ranks_->ranks() : 1; }
  // The longest part of a range of `count` indices.
  std::size_t part(std::size_t count) const { return (count + size() - 1) / size(); }
  // This rank's part of a range. The parts follow each other in the order of ranks.
  IndexRange mine(IndexRange range) const {
    return part_of(range, static_cast<std::size_t>(rank()));
  }

  // Fills the values of a range, of which each rank has its part. Collective.
  template <class... T>
  void gather(IndexRange range, T*... values) {
    if (alone()) return;
    const std::size_t part = this->part(range.end - range.begin), bytes = part * (sizeof(T) + ...);
    mine_.resize(bytes);
    all_.resize(size() * bytes);
    // The arrays' parts one after the other, as long as the longest part of any rank.
    const auto each = [&](char* memory, IndexRange of, auto copy) {
      ((copy(memory, values + of.begin, (of.end - of.begin) * sizeof(T)),
        memory += part * sizeof(T)),
       ...);
    };
    each(mine_.data(), mine(range), [](char* to, const void* from, std::size_t size) {
      if (size) std::memcpy(to, from, size);
    });
    ranks_->gather(mine_.data(), all_.data(), bytes);
    for (std::size_t r = 0; r < size(); ++r)
      each(all_.data() + r * bytes, part_of(range, r),
           [](const char* from, void* to, std::size_t size) {
             if (size) std::memcpy(to, from, size);
           });
  }

  // Replaces counts by their sums over the ranks. Collective.
  void add(std::uint64_t* counts, std::size_t number) {
    if (ranks_) ranks_->sum(counts, number);
  }

  // Answers ranks that wait for this one: to be called at least every some seconds of a computation
  // between two collective calls.
  void look() const {
    if (ranks_) ranks_->watchdog().look();
  }

 private:
  std::size_t size() const { return static_cast<std::size_t>(ranks()); }
  IndexRange part_of(IndexRange range, std::size_t rank) const {
    const std::size_t part = this->part(range.end - range.begin);
    const auto bound = [&](std::size_t r) { return std::min(range.end, range.begin + r * part); };
    return {bound(rank), bound(rank + 1)};
  }

  Communicator* ranks_;
  std::vector<char> mine_, all_;  // of messages
};

}  // namespace manymove::coulomb
