// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "step_rows.h"

namespace manymove::dpd {

// Memory of one thread for the candidates of a cell.
class CandidateMemory {
 public:
  Candidates with_room_for(int number) {
    const auto room = static_cast<std::size_t>((number + 7) / 8 * 8);
    if (index_.size() < room) {
      for (auto& values : values_) values.resize(room);
      index_.resize(room);
      in_.resize(room);
    }
    return {values_[0].data(), values_[1].data(), values_[2].data(), values_[3].data(),
            values_[4].data(), index_.data(),     in_.data()};
  }

 private:
  std::vector<float> values_[5];
  std::vector<std::uint32_t> index_;
  std::vector<std::uint8_t> in_;
};

}  // namespace manymove::dpd
