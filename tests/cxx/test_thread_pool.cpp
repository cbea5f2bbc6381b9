// SPDX-License-Identifier: BSD-3-Clause

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <vector>

#include "core/runtime/parallel_for.h"
#include "support/test.h"
#include "support/threads.h"

using manymove::for_each_item;
using manymove::for_each_range;
using manymove::SharedLoop;
using manymove::ThreadPool;

namespace {

// How often each item was done, and by which threads.
class Record {
 public:
  Record(int items, int threads) : done_(items), threads_(threads) {}
  void note(int item, int thread) {
    if (item < 0 || item >= static_cast<int>(done_.size()) || thread < 0 || thread >= threads_)
      strange_ = true;
    else
      ++done_[static_cast<std::size_t>(item)];
  }
  void check_each_done(int times) const {
    CHECK(!strange_);
    for (const auto& done : done_) CHECK_EQUAL(done.load(), times);
  }

 private:
  std::vector<std::atomic<int>> done_;
  int threads_;
  std::atomic<bool> strange_{false};
};

void run(ThreadPool& pool, int items, Record& record) {
  pool.run(
      items,
      [](void* context, int item, int thread) {
        static_cast<Record*>(context)->note(item, thread);
      },
      &record);
}

}  // namespace

TEST("a thread pool does each item once, on one of its threads") {
  for (const int threads : {1, 2, 4, 9}) {
    ThreadPool pool(threads);
    CHECK_EQUAL(pool.size(), threads);
    Record record(1000, threads);
    run(pool, 1000, record);
    record.check_each_done(1);
  }
}

TEST("a thread pool can have more threads than items, and no items") {
  ThreadPool pool(8);
  for (const int items : {0, 1, 3, 8}) {
    Record record(items, 8);
    run(pool, items, record);
    record.check_each_done(1);
  }
}

TEST("a thread pool is used again and again, with other numbers of items") {
  ThreadPool pool(3);
  Record record(100, 3);
  for (int times = 1; times <= 50; ++times) {
    run(pool, 100, record);
    record.check_each_done(times);
    run(pool, 0, record);
  }
}

TEST("the caller sees what the threads have written when a run returns") {
  ThreadPool pool(4);
  std::vector<int> plain(64);
  for (int round = 1; round <= 1000; ++round) {
    for_each_item(pool, 64, [&](int item, int) { plain[static_cast<std::size_t>(item)] += round; });
    CHECK_EQUAL(plain[static_cast<std::size_t>(round % 64)], round * (round + 1) / 2);
  }
}

TEST("a hundred thousand short runs of a thread pool come to an end") {
  ThreadPool pool(3);
  std::atomic<int> done{0};
  for (int run = 0; run < 100000; ++run)
    pool.run(2, [](void* context, int, int) { ++*static_cast<std::atomic<int>*>(context); }, &done);
  CHECK_EQUAL(done.load(), 200000);
}

TEST("a thread pool that is never used, and one of no threads, end") {
  {
    ThreadPool unused(4);
  }
  ThreadPool none(0);
  CHECK_EQUAL(none.size(), 1);
  Record record(5, 1);
  run(none, 5, record);
  record.check_each_done(1);
}

TEST("a thread pool says how many threads the system gives, and ends those") {
  CHECK_THROWS(ThreadPool(4097), std::invalid_argument, "threads must be at most 4096, got 4097");
  {
    manymove::test::FewThreads two(2);
    CHECK_THROWS(ThreadPool(8), std::runtime_error, "the system gives only 3 of 8 threads");
  }
  {
    manymove::test::FewThreads none(0);
    CHECK_THROWS(ThreadPool(2), std::runtime_error, "the system gives only 1 of 2 threads");
    ThreadPool alone(1);  // asks for none
  }
  ThreadPool pool(8);
  Record record(100, 8);
  run(pool, 100, record);
  record.check_each_done(1);
}

TEST("a shared loop does each item once, whatever the shares") {
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    SharedLoop loop(threads);
    for (const int items : {0, 1, 2, 3, 4, 5, 6, 1000, 1001}) {
      Record record(items, threads);
      for (int times = 1; times <= 3; ++times) {
        loop.run(pool, items, [&](int item, int thread) { record.note(item, thread); });
        record.check_each_done(times);
      }
    }
  }
}

TEST("threads of a shared loop finish the share of a thread that is late") {
  ThreadPool pool(2);
  SharedLoop loop(2);
  std::atomic<int> done{0};
  // Item 0 waits until all others are done: only the other thread can do those of its share.
  loop.run(pool, 64, [&](int item, int) {
    if (item == 0)
      while (done.load() < 63) std::this_thread::yield();
    ++done;
  });
  CHECK_EQUAL(done.load(), 64);
}

TEST("ranges cover the indices from 0 to the end once, without gaps") {
  ThreadPool pool(4);
  for (const int count : {0, 1, 1023, 1024, 1025, 10000}) {
    Record record(count, 1);
    for_each_range(pool, count, [&](int first, int last) {
      if (first >= last) record.note(-1, 0);
      for (int i = first; i < last; ++i) record.note(i, 0);
    });
    record.check_each_done(1);
  }
}

TEST("a run ends with the error of a task, and the pool is used again") {
  ThreadPool pool(4);
  for (int round = 0; round < 200; ++round)
    CHECK_THROWS(for_each_item(pool, 100,
                               [](int item, int) {
                                 if (item % 30 == 7) throw std::runtime_error("no memory");
                               }),
                 std::runtime_error, "no memory");
  Record record(100, 4);
  run(pool, 100, record);
  record.check_each_done(1);
}

TEST("a child of fork() gets an error instead of waiting, and its copy of a pool ends") {
  auto pool = std::make_unique<ThreadPool>(3);
  Record before(10, 3);
  run(*pool, 10, before);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    alarm(10);
    bool refused = false;
    try {
      Record record(10, 3);
      run(*pool, 10, record);
    } catch (const std::runtime_error&) {
      refused = true;
    }
    pool.reset();
    _exit(refused ? 0 : 1);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  Record record(10, 3);
  run(*pool, 10, record);  // in the parent, as ever
  record.check_each_done(1);
}
