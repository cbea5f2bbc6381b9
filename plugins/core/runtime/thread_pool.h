// SPDX-License-Identifier: BSD-3-Clause
// Threads that wait for work: run(n, task) calls task(item, thread) once for each item below n.
#pragma once

#include <atomic>
#include <chrono>
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

  explicit ThreadPool(int threads) {
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
    task_ = task;
    context_ = context;
    items_ = items;
    next_.store(0, std::memory_order_relaxed);
    busy_.store(static_cast<int>(workers_.size()), std::memory_order_relaxed);
    begin();
    take(0);
    const auto done = [this] { return busy_.load(std::memory_order_acquire) == 0; };
    if (seen_soon(done)) return;
    std::unique_lock lock(mutex_);
    done_.wait(lock, done);
  }

 private:
  // A sleeping thread takes some ten microseconds to wake, as long as a small system's work. Work
  // often follows work at once, so a thread first looks for it this long without sleeping.
  static constexpr std::chrono::microseconds kPatience{30};

  template <class Condition>
  static bool seen_soon(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    do {
      for (int look = 0; look < 16; ++look) {
        if (condition()) return true;
        pause();
      }
    } while (std::chrono::steady_clock::now() < end);
    return condition();
  }
  static void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }

  // Publishes the next task, or the end. A worker goes to sleep under the mutex, so that it either
  // sees the new generation or is woken.
  void begin() {
    bool asleep = false;
    {
      std::lock_guard lock(mutex_);
      generation_.fetch_add(1, std::memory_order_release);
      asleep = sleepers_ > 0;
    }
    if (asleep) wake_.notify_all();
  }
  void stop() {
    stop_ = true;
    begin();
    for (auto& worker : workers_) worker.join();
  }
  void take(int thread) {
    for (int item; (item = next_.fetch_add(1, std::memory_order_relaxed)) < items_;)
      task_(context_, item, thread);
  }
  void work(int thread) {
    std::uint64_t seen = 0;
    const auto called = [&] { return generation_.load(std::memory_order_acquire) != seen; };
    for (;;) {
      if (!seen_soon(called)) {
        std::unique_lock lock(mutex_);
        ++sleepers_;
        wake_.wait(lock, called);
        --sleepers_;
      }
      ++seen;
      if (stop_) return;
      take(thread);
      if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        std::lock_guard lock(mutex_);  // the caller sleeps, or has not begun to
        done_.notify_one();
      }
    }
  }

  // What the threads write often is on cache lines of its own.
  std::vector<std::thread> workers_;
  Task task_ = nullptr;
  void* context_ = nullptr;
  int items_ = 0, sleepers_ = 0;
  bool stop_ = false;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  alignas(64) std::atomic<int> next_{0};
  alignas(64) std::atomic<int> busy_{0};
  alignas(64) std::atomic<std::uint64_t> generation_{0};
};

}  // namespace manymove
