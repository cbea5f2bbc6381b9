// SPDX-License-Identifier: BSD-3-Clause
// The rows of histograms that an engine accumulates while it runs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine.h"

namespace manymove::hard_particles {

class Rows {
 public:
  void begin(const Sampling& sampling, std::size_t size, std::uint64_t cycle) {
    sampling_ = sampling;
    // A row of a single sample is complete wherever it begins.
    incomplete_ = sampling.record > sampling.every && cycle % sampling.record != 0;
    row_.assign(size, 0);
    rows_.clear();
    cycles_.clear();
  }
  const Sampling& sampling() const { return sampling_; }
  bool wants_sample(std::uint64_t cycle) const {
    return sampling_.every && cycle % sampling_.every == 0;
  }
  std::uint64_t* row() { return row_.data(); }  // to which samples are added
  void end_cycle(std::uint64_t cycle) {
    if (!sampling_.record || cycle % sampling_.record != 0) return;
    if (!incomplete_) {
      rows_.insert(rows_.end(), row_.begin(), row_.end());
      cycles_.push_back(cycle);
    }
    incomplete_ = false;
    std::fill(row_.begin(), row_.end(), 0);
  }
  std::vector<std::uint64_t> take(std::vector<std::uint64_t>& cycles) {
    cycles = std::exchange(cycles_, {});
    return std::exchange(rows_, {});
  }

 private:
  Sampling sampling_;
  bool incomplete_ = false;  // the row that is being filled began late
  std::vector<std::uint64_t> row_, rows_, cycles_;
};

}  // namespace manymove::hard_particles
