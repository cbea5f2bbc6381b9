// SPDX-License-Identifier: BSD-3-Clause
// Threads that wait for work: run(n, task) calls task(item, thread) once for each item below n.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace manymove {

class ThreadPool {
 public:
  using Task = void (*)(void* context, int item, int thread);

  static constexpr int kMost = 4096;  // more than this burden a machine for minutes

  explicit ThreadPool(int threads) {
    if (threads > kMost)
      throw std::invalid_argument("threads must be at most " + std::to_string(kMost) + ", got " +
                                  std::to_string(threads));
    try {
      for (int t = 1; t < threads; ++t) workers_.emplace_back([this, t] { work(t); });
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
  ~ThreadPool() { stop(); }
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return static_cast<int>(workers_.size()) + 1; }

  // The caller takes part. Tasks must not throw.
  void run(int items, Task task, void* context) {
    {
      std::lock_guard lock(mutex_);
      task_ = task;
      context_ = context;
      items_ = items;
      next_.store(0, std::memory_order_relaxed);
      busy_ = static_cast<int>(workers_.size());
      ++generation_;
    }
    wake_.notify_all();
    take(0);
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return busy_ == 0; });
  }

 private:
  void stop() {
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    for (auto& worker : workers_) worker.join();
  }
  void take(int thread) {
    for (int item; (item = next_.fetch_add(1, std::memory_order_relaxed)) < items_;)
      task_(context_, item, thread);
  }
  void work(int thread) {
    std::uint64_t seen = 0;
    for (;;) {
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [&] { return stop_ || generation_ != seen; });
        if (stop_) return;
        seen = generation_;
      }
      take(thread);
      {
        std::lock_guard lock(mutex_);
        if (--busy_ == 0) done_.notify_one();
      }
    }
  }

  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::atomic<int> next_{0};
  Task task_ = nullptr;
  void* context_ = nullptr;
  int items_ = 0, busy_ = 0;
  std::uint64_t generation_ = 0;
  bool stop_ = false;
};

}  // namespace manymove
