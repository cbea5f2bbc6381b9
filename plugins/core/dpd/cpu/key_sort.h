// SPDX-License-Identifier: BSD-3-Clause
// Sorting in the threads of a pool.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "../../runtime/parallel_for.h"

namespace manymove::dpd {

// Indices in the order of their keys, equal ones as they come: by digits, the lowest first. The
// order does not depend on the number of threads.
class KeySort {
 public:
  // bits: of the keys. The result holds until the next call.
  const std::vector<std::uint32_t>& run(ThreadPool& pool, std::span<const std::uint32_t> key,
                                        int bits) {
    constexpr int kLongestDigit = 11;
    // Digits of equal length, at most 11 bits: a table of 2,048 places stays in the L1 cache.
    const int passes = std::max(1, (bits + kLongestDigit - 1) / kLongestDigit),
              digit = (bits + passes - 1) / passes;
    for (int k = 0; k < 2; ++k) {
      index_[k].resize(key.size());
      key_[k].resize(key.size());
    }
    parts_ = std::clamp(static_cast<int>(key.size() / 4096), 1, pool.size());
    for (int pass = 0; pass < passes; ++pass) {
      const int from = pass % 2, shift = pass * digit;
      sort_digit(pool, pass == 0 ? key : key_[from], pass == 0 ? nullptr : index_[from].data(),
                 shift, digit, 1 - from);
    }
    return index_[passes % 2];
  }

 private:
  // index: of each key, or null for their places.
  void sort_digit(ThreadPool& pool, std::span<const std::uint32_t> key, const std::uint32_t* index,
                  int shift, int digit, int to) {
    const auto values = std::size_t{1} << digit;
    const std::uint32_t mask = static_cast<std::uint32_t>(values) - 1;
    const auto bound = [&](int part) { return static_cast<int>(std::ssize(key) * part / parts_); };
    place_.assign(values * static_cast<std::size_t>(parts_), 0);
    for_each_item(pool, parts_, [&](int part, int) {
      std::uint32_t* number = &place_[values * static_cast<std::size_t>(part)];
      for (int i = bound(part); i < bound(part + 1); ++i) ++number[key[i] >> shift & mask];
    });
    // Places by value, then by part: parts are ranges in ascending order, so that the sort is
    // stable.
    std::uint32_t before = 0;
    for (std::size_t value = 0; value < values; ++value)
      for (int part = 0; part < parts_; ++part) {
        std::uint32_t& place = place_[values * static_cast<std::size_t>(part) + value];
        const std::uint32_t number = place;
        place = before;
        before += number;
      }
    for_each_item(pool, parts_, [&](int part, int) {
      std::uint32_t* place = &place_[values * static_cast<std::size_t>(part)];
      for (int i = bound(part); i < bound(part + 1); ++i) {
        const std::uint32_t at = place[key[i] >> shift & mask]++;
        key_[to][at] = key[i];
        index_[to][at] = index ? index[i] : static_cast<std::uint32_t>(i);
      }
    });
  }

  int parts_ = 1;
  std::vector<std::uint32_t> index_[2], key_[2], place_;
};

}  // namespace manymove::dpd
