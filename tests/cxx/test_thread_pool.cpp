// SPDX-License-Identifier: BSD-3-Clause
#include <atomic>
#include <vector>

#include "core/common/thread_pool.h"
#include "support/test.h"

using manymove::ThreadPool;

TEST("a thread pool does each item once, on one of its threads") {
  ThreadPool pool(4);
  struct Work {
    std::vector<std::atomic<int>> done = std::vector<std::atomic<int>>(1000);
    std::atomic<bool> known_threads{true};
  } work;
  pool.run(
      1000,
      [](void* context, int item, int thread) {
        auto& work = *static_cast<Work*>(context);
        ++work.done[static_cast<std::size_t>(item)];
        if (thread < 0 || thread >= 4) work.known_threads = false;
      },
      &work);
  for (const auto& times : work.done) CHECK_EQUAL(times.load(), 1);
  CHECK(work.known_threads);
}
