// SPDX-License-Identifier: BSD-3-Clause
// Sorting by keys, tables of tags and lists of partners: the foundations of DPD's lists on the CPU.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <unordered_map>
#include <vector>

#include "core/dpd/cpu/bonded.h"
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

TEST("a tag table numbers tags as they come, as a hash map of the standard library does") {
  std::mt19937 random(2);
  TagTable table;
  std::unordered_map<std::uint32_t, int> expected;
  for (int k = 0; k < 100000; ++k) {
    // A third of them have been seen before; growth happens on the way.
    const auto tag = static_cast<std::uint32_t>(random() % 60000);
    const auto [at, fresh] = expected.try_emplace(tag, static_cast<int>(expected.size()));
    CHECK_EQUAL(table.add(tag), at->second);
    CHECK_EQUAL(table.size(), static_cast<int>(expected.size()));
    (void)fresh;
  }
  for (std::uint32_t tag = 0; tag < 70000; ++tag) {
    const auto at = expected.find(tag);
    CHECK_EQUAL(table.find(tag), at == expected.end() ? -1 : at->second);
  }
}

TEST("a tag table tells the tags 0 and 2^32 - 1 from no tag") {
  TagTable table;
  CHECK_EQUAL(table.find(0), -1);
  CHECK_EQUAL(table.find(0xffffffffu), -1);
  CHECK_EQUAL(table.add(7), 0);
  CHECK_EQUAL(table.find(0), -1);
  CHECK_EQUAL(table.add(0), 1);
  CHECK_EQUAL(table.find(0xffffffffu), -1);
  CHECK_EQUAL(table.add(0xffffffffu), 2);
  CHECK_EQUAL(table.add(0), 1);
  CHECK_EQUAL(table.find(0xffffffffu), 2);
}

TEST("a tag table holds tags that all want one place") {
  // Equal in the 16 bits that 65,536 entries look at.
  const auto place = [](std::uint32_t tag) { return (tag * 0x9E3779B97F4A7C15u) >> 32 & 0xffffu; };
  Keys tags;
  for (std::uint32_t tag = 1; tags.size() < 500; ++tag)
    if (place(tag) == 0xffffu) tags.push_back(tag);
  TagTable table;
  for (std::size_t k = 0; k < tags.size(); ++k) {
    CHECK_EQUAL(table.find(tags[k]), -1);
    CHECK_EQUAL(table.add(tags[k]), static_cast<int>(k));
  }
  for (std::size_t k = 0; k < tags.size(); ++k)
    CHECK_EQUAL(table.find(tags[k]), static_cast<int>(k));
}

TEST("a tag table is empty after clear") {
  TagTable table;
  for (std::uint32_t tag = 0; tag < 1000; ++tag) table.add(tag);
  table.clear();
  CHECK_EQUAL(table.size(), 0);
  for (std::uint32_t tag = 0; tag < 1000; ++tag) CHECK_EQUAL(table.find(tag), -1);
  CHECK_EQUAL(table.add(999), 0);
}

TEST("partners come by slot, those of a particle in the order of the links") {
  TagTable slots;
  for (const std::uint32_t tag : {50u, 10u, 30u}) slots.add(tag);
  const std::vector<Link> links = {{10, 30, 1}, {10, 50, 2}, {30, 10, 1}, {50, 10, 2}};
  PartnerLists bonds, specials;
  bonds.take(links, slots, true);
  specials.take(links, slots, false);
  CHECK(bonds.first == std::vector<int>({0, 1, 3, 4}));
  CHECK(bonds.partner == Keys({1, 2, 0, 1}));
  CHECK(specials.partner == Keys({10, 30, 50, 10}));
  CHECK(bonds.kind == std::vector<int>({2, 1, 2, 1}));
  bonds.take({}, slots, true);
  CHECK(bonds.first == std::vector<int>({0, 0, 0, 0}));
}
