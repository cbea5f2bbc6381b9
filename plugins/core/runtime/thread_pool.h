// SPDX-License-Identifier: BSD-3-Clause
// Threads that wait for work: run(n, task) calls task(item, thread) once for each item below n,
// where `thread` is below size(). Used by one thread at a time; a task must not call run().
#pragma once

#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "errors.h"

namespace manymove {

class ThreadPool {
 public:
  using Task = void (*)(void* context, int item, int thread);

  static constexpr int kMost = 4096;  // more than this burden a machine for minutes

  // So many threads, including the caller of run(). Throws std::invalid_argument for more than
  // kMost, std::runtime_error if the system does not start them all.
  explicit ThreadPool(int threads) {
    if (threads > kMost) refuse(Parameter{"threads"}, "must be at most ", kMost, ", got ", threads);
    try {
      for (int t = 1; t < threads; ++t)
        shared_->workers.emplace_back([shared = shared_.get(), t] { work(*shared, t); });
    } catch (const std::system_error& error) {
      const std::string got = std::to_string(size());
      stop();
      throw std::runtime_error("the system gives only " + got + " of " + std::to_string(threads) +
                               " threads (" + error.what() + ")");
    } catch (...) {
      stop();
      throw;
    }
  }
  // A child of fork() has no workers, and must not destroy the objects that they wait for.
  ~ThreadPool() {
    if (is_of_this_process())
      stop();
    else
      static_cast<void>(shared_.release());
  }

  int size() const { return static_cast<int>(shared_->workers.size()) + 1; }

  // The caller takes part. If a task throws, items that no thread has begun are left out, and the
  // first exception is thrown when all threads have finished. Throws std::runtime_error in
  // a child of fork().
  void run(int items, Task task, void* context) {
    if (!is_of_this_process())
      throw std::runtime_error(
          "the threads of this object belong to the parent process: make or load an object in "
          "each process (multiprocessing: start method \"spawn\")");
    Shared& s = *shared_;
    {
      std::lock_guard lock(s.mutex);
      s.task = task;
      s.context = context;
      s.items = items;
      // The lock orders this before what a thread that sees the new generation takes.
      s.next.store(0, std::memory_order_relaxed);
      s.busy = static_cast<int>(s.workers.size());
      ++s.generation;
    }
    s.wake.notify_all();
    take(s, 0);
    std::unique_lock lock(s.mutex);
    s.done.wait(lock, [&s] { return s.busy == 0; });
    if (s.error) std::rethrow_exception(std::exchange(s.error, nullptr));
  }

 private:
  struct Shared {
    std::vector<std::thread> workers;
    std::mutex mutex;
    std::condition_variable wake, done;
    std::atomic<int> next{0};
    Task task = nullptr;
    void* context = nullptr;
    int items = 0, busy = 0;
    std::uint64_t generation = 0;
    bool stop = false;
    std::exception_ptr error;
  };

  bool is_of_this_process() const { return shared_->workers.empty() || getpid() == process_; }
  void stop() {
    {
      std::lock_guard lock(shared_->mutex);
      shared_->stop = true;
    }
    shared_->wake.notify_all();
    for (auto& worker : shared_->workers) worker.join();
  }
  static void take(Shared& s, int thread) {
    try {
      // Relaxed: the counter only deals out items. The mutex orders what tasks have written before
      // the caller's return.
      for (int item; (item = s.next.fetch_add(1, std::memory_order_relaxed)) < s.items;)
        s.task(s.context, item, thread);
    } catch (...) {
      // No thread begins another item after an error.
      s.next.store(s.items, std::memory_order_relaxed);
      std::lock_guard lock(s.mutex);
      if (!s.error) s.error = std::current_exception();
    }
  }
  static void work(Shared& s, int thread) {
    std::uint64_t seen = 0;
    for (;;) {
      {
        std::unique_lock lock(s.mutex);
        // A worker that comes late sees a new generation, and no notification is needed for it.
        s.wake.wait(lock, [&] { return s.stop || s.generation != seen; });
        if (s.stop) return;
        seen = s.generation;
      }
      take(s, thread);
      {
        std::lock_guard lock(s.mutex);
        // This is the last worker; the caller waits under the same mutex.
        if (--s.busy == 0) s.done.notify_one();
      }
    }
  }

  std::unique_ptr<Shared> shared_ = std::make_unique<Shared>();
  pid_t process_ = getpid();
};

}  // namespace manymove
