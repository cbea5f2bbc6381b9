// SPDX-License-Identifier: BSD-3-Clause
// Threads that wait for work: run(n, task) calls task(item, thread) once for each item below n.
// Whoever waits looks again and again for some microseconds before it sleeps, since waking takes
// tens of them; not where threads outnumber cores.
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

  explicit ThreadPool(int threads) : workers_wanted_(threads - 1) {
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
    bool somebody_sleeps;
    {
      std::lock_guard lock(mutex_);
      task_ = task;
      context_ = context;
      items_ = items;
      next_.store(0, std::memory_order_relaxed);
      busy_.store(static_cast<int>(workers_.size()), std::memory_order_relaxed);
      generation_.fetch_add(1, std::memory_order_release);
      somebody_sleeps = sleepers_ > 0;
    }
    if (somebody_sleeps) wake_.notify_all();
    take(0);
    const auto done = [this] { return busy_.load(std::memory_order_acquire) == 0; };
    if (look_for(done)) return;
    std::unique_lock lock(mutex_);
    done_.wait(lock, done);
  }

 private:
  void stop() {
    {
      std::lock_guard lock(mutex_);
      stop_.store(true, std::memory_order_relaxed);
      generation_.fetch_add(1, std::memory_order_release);
    }
    wake_.notify_all();
    for (auto& worker : workers_) worker.join();
  }
  void take(int thread) {
    for (int item; (item = next_.fetch_add(1, std::memory_order_relaxed)) < items_;)
      task_(context_, item, thread);
  }
  template <class Condition>
  bool look_for(const Condition& condition) const {
    const int looks = workers_wanted_ < cores_ ? 2000 : 1;
    for (int k = 0; k < looks; ++k) {
      if (condition()) return true;
#if defined(__x86_64__)
      __builtin_ia32_pause();
#elif defined(__aarch64__)
      asm volatile("isb");
#endif
    }
    return false;
  }
  void work(int thread) {
    std::uint64_t seen = 0;
    const auto called = [&] { return generation_.load(std::memory_order_acquire) != seen; };
    for (;;) {
      if (!look_for(called)) {
        std::unique_lock lock(mutex_);
        ++sleepers_;
        wake_.wait(lock, called);
        --sleepers_;
      }
      if (stop_.load(std::memory_order_relaxed)) return;
      seen = generation_.load(std::memory_order_relaxed);
      take(thread);
      if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        {
          std::lock_guard lock(mutex_);
        }  // the caller looks before it sleeps, or hears of it
        done_.notify_one();
      }
    }
  }

  const int workers_wanted_, cores_ = static_cast<int>(std::thread::hardware_concurrency());
  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::atomic<int> next_{0};
  Task task_ = nullptr;
  void* context_ = nullptr;
  int items_ = 0, sleepers_ = 0;
  std::atomic<int> busy_{0};  // workers
  std::atomic<std::uint64_t> generation_{0};
  std::atomic<bool> stop_{false};
};

}  // namespace manymove
