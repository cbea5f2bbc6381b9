// SPDX-License-Identifier: BSD-3-Clause
// Threads that each want something done for a member, which one of them can do for all who wait:
// for instance a launch of a kernel for many engines of a GPU. Members that are away are not waited
// for.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <vector>

namespace manymove {

template <class Member>
class Gathering {
 public:
  // What a thread waits for. Only the thread that works for all changes `left`, `done` and `error`.
  struct Request {
    Member* member;
    std::uint64_t left;  // to be done
    bool done = false;
    std::exception_ptr error;  // of this member alone
    std::uint64_t mark = 0;    // for the one that works

   private:
    friend Gathering;
    enum { kWaits, kLeads, kEnded } state = kWaits;
    std::condition_variable wake;
  };
  using Requests = std::vector<Request*>;

  // patience: how long those who have arrived wait for the other members.
  explicit Gathering(std::chrono::microseconds patience) : patience_(patience) {}

  void join() {
    const std::lock_guard lock(mutex_);
    ++members_;
  }
  void leave() {
    const std::lock_guard lock(mutex_);
    --members_;
    arrived_.notify_one();
  }

  // Returns once `work` has set `done` of this thread's request, and what is left to be done then;
  // throws its error. work(requests) does a part for all of them at a time, in one thread at a
  // time, and is called until it has set `done`. What it throws is the error of all of them.
  std::uint64_t run(Member& member, std::uint64_t units, auto&& work) {
    Request mine;
    mine.member = &member;
    mine.left = units;
    std::unique_lock lock(mutex_);
    waiting_.push_back(&mine);
    arrived_.notify_one();
    if (led_) mine.wake.wait(lock, [&] { return mine.state != Request::kWaits; });
    if (mine.state != Request::kEnded) lead(mine, work, lock);
    if (mine.error) std::rethrow_exception(mine.error);
    return mine.left;
  }

 private:
  void lead(Request& mine, auto& work, std::unique_lock<std::mutex>& lock) {
    led_ = true;
    while (mine.state != Request::kEnded) {
      // Waits for all members, but only briefly for absent ones.
      arrived_.wait_for(lock, patience_, [&] { return waiting_.size() >= members_; });
      const Requests present = waiting_;
      lock.unlock();
      try {
        // Without the lock: others may come meanwhile, and are served in the next round.
        work(present);
      } catch (...) {
        for (Request* const each : present) {
          each->error = std::current_exception();
          each->done = true;
        }
      }
      lock.lock();
      std::erase_if(waiting_, [](const Request* each) { return each->done; });
      // A request is gone as soon as its thread can see that it has ended.
      for (Request* const each : present) {
        if (!each->done) continue;
        each->state = Request::kEnded;
        if (each != &mine) each->wake.notify_one();
      }
    }
    led_ = !waiting_.empty();
    if (!led_) return;
    waiting_.front()->state = Request::kLeads;
    waiting_.front()->wake.notify_one();
  }

  const std::chrono::microseconds patience_;
  std::mutex mutex_;
  std::condition_variable arrived_;  // of the one that leads
  std::size_t members_ = 0;
  Requests waiting_;
  bool led_ = false;  // whether a thread works for all, or has been asked to
};

}  // namespace manymove
