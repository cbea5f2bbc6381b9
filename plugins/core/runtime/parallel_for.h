// SPDX-License-Identifier: BSD-3-Clause
// Loops whose items are shared among the threads of a pool. Which thread takes which item depends
// on timing, so an item must give the same result in any of them.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>

#include "thread_pool.h"

namespace manymove {

// Calls task(item, thread) for each item below `items`. Throws what a task throws
// (ThreadPool::run).
template <class Task>
void for_each_item(ThreadPool& pool, int items, Task task) {
  if (items <= 1 || pool.size() == 1) {
    for (int item = 0; item < items; ++item) task(item, 0);
    return;
  }
  pool.run(
      items,
      [](void* context, int item, int thread) { (*static_cast<Task*>(context))(item, thread); },
      &task);
}

// Calls task(item, thread) for each item below `items`. Each thread first takes the items of its
// own share, which are the same at every call and therefore in its cache, and then those that the
// other threads have not begun. An object serves one loop at a time. threads: at least pool.size()
// of run().
class SharedLoop {
 public:
  explicit SharedLoop(int threads) : next_(std::make_unique<Next[]>(threads)) {}

  void run(ThreadPool& pool, int items, auto task) {
    const int shares = pool.size();
    if (items <= 1 || shares == 1) return for_each_item(pool, items, task);  // wakes no thread
    const auto bound = [&](int share) {
      return static_cast<int>(static_cast<std::int64_t>(items) * share / shares);
    };
    for (int share = 0; share < shares; ++share)
      next_[share].item.store(bound(share), std::memory_order_relaxed);
    for_each_item(pool, shares, [&](int, int thread) {
      for (int k = 0; k < shares; ++k) {
        // Its own share first; then the others', beginning with the next thread's, so that helpers
        // spread out.
        const int share = (thread + k) % shares, end = bound(share + 1);
        std::atomic<int>& next = next_[share].item;
        // A look before the increment, so that finished shares are not written to by all threads.
        while (next.load(std::memory_order_relaxed) < end) {
          const int item = next.fetch_add(1, std::memory_order_relaxed);
          if (item < end) task(item, thread);
        }
      }
    });
  }

 private:
  struct alignas(64) Next {  // a cache line each
    std::atomic<int> item;
  };
  std::unique_ptr<Next[]> next_;
};

// Calls task(first, last) for ranges [first, last) that together are [0, count).
void for_each_range(ThreadPool& pool, int count, auto task) {
  constexpr int kRange = 1024;
  for_each_item(pool, (count + kRange - 1) / kRange,
                [&](int item, int) { task(item * kRange, std::min(count, (item + 1) * kRange)); });
}

// Calls task(i) for each i below count.
void for_each_index(ThreadPool& pool, int count, auto task) {
  for_each_range(pool, count, [&](int first, int last) {
    for (int i = first; i < last; ++i) task(i);
  });
}

}  // namespace manymove
