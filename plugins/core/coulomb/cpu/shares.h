// SPDX-License-Identifier: BSD-3-Clause
// Division of work among ranks that all hold the same ions: each rank computes the values of its
// part of a range of indices, and gather() then completes the values on all ranks. On one rank the
// part is the whole range. With few ions a sweep takes less time than the messages; therefore each
// rank then computes everything.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "../../parallel/communicator.h"
#include "kernels.h"

namespace manymove::coulomb {

class Shares {
 public:
  Shares(Communicator* ranks, std::size_t ions)
      : ranks_(ions < kLeast ? nullptr : ranks), waiting_(ranks) {}

  bool alone() const { return !ranks_; }
  int rank() const { return ranks_ ? ranks_->rank() : 0; }
  int ranks() const { return ranks_ ? ranks_->ranks() : 1; }
  // Length of the longest part of a range of `count` indices.
  std::size_t part(std::size_t count) const { return (count + size() - 1) / size(); }
  // This rank's part of a range. The parts are consecutive, in the order of the ranks.
  IndexRange mine(IndexRange range) const {
    return part_of(range, static_cast<std::size_t>(rank()));
  }

  // Completes the values of a range, of which each rank has computed its part. Collective.
  void gather(IndexRange range, auto*... values) { gather_rows(range, 1, values...); }
  // The same with `width` values for each index.
  template <class... T>
  void gather_rows(IndexRange range, std::size_t width, T*... values) {
    if (alone()) return;
    const std::size_t part = width * this->part(range.end - range.begin),
                      bytes = part * (sizeof(T) + ...);
    mine_.resize(bytes);
    all_.resize(size() * bytes);
    // A message has the parts of all arrays in turn, each padded to the longest part of any rank.
    const auto each = [&](char* memory, IndexRange of, auto copy) {
      ((copy(memory, values + of.begin * width, (of.end - of.begin) * width * sizeof(T)),
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

  // Answers ranks that wait for this one. A computation between two collective calls must call it
  // every few seconds.
  void look() const {
    if (waiting_) waiting_->watchdog().look();
  }

 private:
  static constexpr std::size_t kLeast = 512;  // fewest ions whose sweeps are divided

  std::size_t size() const { return static_cast<std::size_t>(ranks()); }
  IndexRange part_of(IndexRange range, std::size_t rank) const {
    const std::size_t part = this->part(range.end - range.begin);
    const auto bound = [&](std::size_t r) { return std::min(range.end, range.begin + r * part); };
    return {bound(rank), bound(rank + 1)};
  }

  Communicator* ranks_;           // ranks that divide the work; null: none
  Communicator* waiting_;         // ranks that may wait for this one; null: none
  std::vector<char> mine_, all_;  // messages of this rank and of all ranks
};

}  // namespace manymove::coulomb
