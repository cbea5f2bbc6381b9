// SPDX-License-Identifier: BSD-3-Clause
// Which of a rank's particles belong into each of several boxes. A test is a function of the
// device: test(b, i) tells whether particle i belongs into box b.
#pragma once

#include <algorithm>
#include <limits>
#include <numeric>

#include "../../../runtime/text.h"
#include "../sort.h"
#include "../step_constants.cuh"
#include "exchange_kernels.cuh"
#include "rank_report.cuh"
#include "rank_streams.cuh"

namespace manymove::dpd {

class Selection {
 public:
  Selection(const RankStreams& streams, const RankReport& report)
      : streams_(streams), answers_(report.answers()) {}

  // How many of the first particles are in each box; in answers().total once streams.work is
  // through.
  template <class Test>
  void count(int count, int boxes, const Test& test) {
    if (unsigned* number = room_for_numbers(count, boxes)) {
      count_kernel<<<blocks_for(count, kSorters), kSorters, 0, streams_.work>>>(count, boxes, test,
                                                                                number);
      check_launch();
    }
    sum(count, boxes);
  }
  // After count() of the same particles: their indices, box after box.
  template <class Test>
  void pick(int count, int boxes, const Test& test, const DeviceBuffer<unsigned>& picked) {
    if (count == 0 || boxes == 0) return;
    pick_kernel<<<blocks_for(count, kSorters), kSorters, 0, streams_.work>>>(
        count, boxes, test, block_offset_.data(), picked.data());
    check_launch();
  }
  // In all boxes, after the wait for count().
  int total(int boxes) const {
    return static_cast<int>(
        std::accumulate(answers_.total, answers_.total + boxes, std::uint64_t(0)));
  }

 private:
  // Of each block in each box; null where there are none.
  unsigned* room_for_numbers(int count, int boxes) {
    const std::int64_t numbers = std::int64_t{boxes} * blocks_for(count, kSorters) + 1;
    if (numbers > std::numeric_limits<int>::max())
      throw std::runtime_error(text_of(count, " particles on one of ", boxes,
                                       " ranks: a 256th of their product must be below 2^31"));
    streams_.ensure(block_number_, numbers);
    streams_.ensure(block_offset_, numbers);
    return count > 0 && boxes > 0 ? block_number_.data() : nullptr;
  }
  void sum(int count, int boxes) {
    const int blocks = blocks_for(count, kSorters), numbers = boxes * blocks + 1;
    if (numbers == 1) {
      streams_.wait(streams_.work, "count");
      std::fill_n(answers_.total, boxes, 0u);
      return;
    }
    const std::size_t bytes = sum_memory(numbers, streams_.work);
    streams_.ensure(scratch_, bytes);
    exclusive_sum(scratch_.data(), bytes, block_number_.data(), block_offset_.data(), numbers,
                  streams_.work);
    totals_kernel<<<blocks_for(boxes), kThreads, 0, streams_.work>>>(
        boxes, static_cast<unsigned>(blocks), block_offset_.data(), answers_.total);
    check_launch();
  }

  const RankStreams& streams_;
  Answers& answers_;
  DeviceBuffer<unsigned> block_number_, block_offset_;
  DeviceBuffer<char> scratch_;
};

}  // namespace manymove::dpd
