// SPDX-License-Identifier: BSD-3-Clause
// Rows that an engine accumulates while it runs, each over a number of cycles.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace manymove::hard_particles {

// Rows end with the cycles that are multiples of `record`. The first one is dropped if it began
// late.
template <class T>
class Rows {
 public:
  // record: 0 for no rows; every: cycles between samples. A row of a single sample is complete
  // wherever it begins.
  void begin(std::uint64_t record, std::uint64_t every, std::uint64_t cycle) {
    record_ = record;
    incomplete_ = record > every && cycle % record != 0;
    rows_.clear();
    cycles_.clear();
  }
  bool recorded() const { return record_ != 0; }
  bool ends_with(std::uint64_t cycle) const { return record_ && cycle % record_ == 0; }
  // Whether the present row began in time.
  bool complete() const { return !incomplete_; }
  // Ends the present row; returns whether it is complete and add() must follow.
  bool end(std::uint64_t cycle) {
    const bool complete = !std::exchange(incomplete_, false);
    if (complete) cycles_.push_back(cycle);
    return complete;
  }
  void add(const auto& values) { rows_.insert(rows_.end(), values.begin(), values.end()); }
  // Finished rows and the cycle at which each ended.
  std::vector<T> take(std::vector<std::uint64_t>& cycles) {
    cycles = std::exchange(cycles_, {});
    return std::exchange(rows_, {});
  }

 private:
  std::uint64_t record_ = 0;
  bool incomplete_ = false;
  std::vector<T> rows_;
  std::vector<std::uint64_t> cycles_;
};

}  // namespace manymove::hard_particles
