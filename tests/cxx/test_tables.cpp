// SPDX-License-Identifier: BSD-3-Clause
// Sorting by keys, on which DPD's lists on the CPU are founded.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "core/dpd/cpu/key_sort.h"
#include "support/test.h"

using namespace manymove;
using namespace manymove::dpd;

namespace {

using Keys = std::vector<std::uint32_t>;

std::vector<std::uint32_t> sorted_indices(const Keys& keys) {
  std::vector<std::uint32_t> indices(keys.size());
  std::iota(indices.begin(), indices.end(), 0u);
  std::stable_sort(indices.begin(), indices.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return keys[a] < keys[b]; });
  return indices;
}

void check_sort(ThreadPool& pool, KeySort& sort, const Keys& keys, int bits) {
  const auto& order = sort.run(pool, keys, bits);
  CHECK(order == sorted_indices(keys));
}

}  // namespace

TEST("keys are sorted as std::stable_sort does, at each width of keys and number of threads") {
  std::mt19937 random(1);
  for (const int threads : {1, 2, 4}) {
    ThreadPool pool(threads);
    KeySort sort;
    for (const int count : {0, 1, 2, 4095, 4096, 20000})
      for (const int bits : {1, 3, 10, 11, 12, 22, 23, 30, 31, 32}) {
        Keys keys(static_cast<std::size_t>(count));
        for (auto& key : keys) key = static_cast<std::uint32_t>(random()) >> (32 - bits);
        check_sort(pool, sort, keys, bits);
      }
  }
}

TEST("keys in awkward orders are sorted, equal ones staying in theirs") {
  ThreadPool pool(3);
  KeySort sort;
  constexpr std::uint32_t kLast = 0xffffffffu;
  const std::size_t n = 3 * 4096 + 7;
  Keys rising(n), falling(n), few(n), ends(n);
  for (std::size_t i = 0; i < n; ++i) {
    rising[i] = static_cast<std::uint32_t>(i);
    falling[i] = kLast - static_cast<std::uint32_t>(i);
    few[i] = i % 3 == 0 ? 1u << 31 : i % 3 == 1 ? 1u << 11 : 1u;  // a digit each
    ends[i] = i % 2 ? 0 : kLast;
  }
  for (const Keys& keys : {Keys(n, 0), Keys(n, kLast), rising, falling, few, ends})
    check_sort(pool, sort, keys, 32);
}

TEST("a sort after a longer one is not disturbed by it") {
  ThreadPool pool(2);
  KeySort sort;
  Keys keys(10000);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<std::uint32_t>(i * i % 997);
  check_sort(pool, sort, keys, 10);
  keys.resize(5);
  check_sort(pool, sort, keys, 30);
}
