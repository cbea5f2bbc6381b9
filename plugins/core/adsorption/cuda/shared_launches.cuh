// SPDX-License-Identifier: BSD-3-Clause
// Launches that the engines of a GPU share. The hardware runs some 32 kernels at the same time,
// however few blocks they have, so that launches of many small engines would not fill a GPU. While
// as many are running, engines wait for the end of one, and then start together. This does not
// change what an engine does.
#pragma once

#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "../../runtime/device.cuh"
#include "kernels.cuh"

namespace manymove::adsorption {

template <class Arrays>
class SharedLaunches {
  struct Slot;

 public:
  // The steps of an engine, which has waited for its earlier work.
  struct Call {
    RunKernels<Arrays> kernels;
    int blocks, threads;
    std::size_t shared;
    const Arrays* arrays;
    DeviceMoveCounts counts{};  // the result

    std::condition_variable turn{};
    Slot* slot = nullptr;  // of the call that launches for its batch
    bool done = false;
    std::exception_ptr error{};
  };

  // Those of the current device. They are never destroyed, because CUDA may have ended before.
  static SharedLaunches& of(int device) {
    static std::mutex mutex;
    static auto& all = *new std::map<int, SharedLaunches>;
    const std::lock_guard lock(mutex);
    return all[device];
  }

  // Blocks until the steps are made. An error of a launch is one of all its engines.
  void run(Call& own) {
    std::unique_lock lock(mutex_);
    if (free_.empty() && slots_.size() < most_launches()) {
      slots_.push_back(std::make_unique<Slot>());
      free_.push_back(slots_.back().get());
    }
    waiting_.push_back(&own);
    if (!free_.empty()) appoint();
    own.turn.wait(lock, [&] { return own.slot || own.done; });
    if (!own.done) {
      Slot& slot = *own.slot;
      lock.unlock();
      std::exception_ptr error;
      try {
        launch(slot);
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      for (Call* each : slot.batch) {
        each->error = error;
        each->done = true;
        each->turn.notify_one();  // with the lock: the call exists as long as its thread waits
      }
      free_.push_back(&slot);
      if (!waiting_.empty()) appoint();
    }
    if (own.error) std::rethrow_exception(own.error);
  }

 private:
  static std::size_t most_launches() {
    static const char* const given = std::getenv("S1_SLOTS");
    static const std::size_t most = given && std::atoi(given) > 0 ? std::atoi(given) : 1000;
    return most;
  }

  struct Slot {
    Stream stream;
    DeviceBuffer<DeviceMoveCounts> counts{Together<Arrays>::kMost, Memory::pool};
    std::vector<Call*> batch;
  };

  // Lets the first call that waits launch for those that fit to it.
  void appoint() {
    Slot* const slot = free_.back();
    free_.pop_back();
    Call* const first = waiting_.front();
    const auto fits = [&](const Call* c) {
      // A block has the memory of the largest ones.
      return c == first || (c->kernels.together && c->kernels.together == first->kernels.together &&
                            c->threads == first->threads && 2 * c->shared < 3 * first->shared &&
                            2 * first->shared < 3 * c->shared);
    };
    slot->batch.clear();
    std::erase_if(waiting_, [&](Call* c) {
      if (slot->batch.size() == Together<Arrays>::kMost || !fits(c)) return false;
      slot->batch.push_back(c);
      return true;
    });
    first->slot = slot;
    first->turn.notify_one();
  }

  static void launch(Slot& slot) {
    const Call& first = *slot.batch.front();
    const std::size_t count = slot.batch.size();
    slot.counts.clear(slot.stream);
    slot.stream.wait();
    if (count == 1) {
      first.kernels.alone<<<first.blocks, first.threads, first.shared, slot.stream>>>(
          *first.arrays, slot.counts.data());
    } else {
      Together<Arrays> all;
      int blocks = 0;
      std::size_t shared = 0;
      for (std::size_t i = 0; i < count; ++i) {
        const Call& each = *slot.batch[i];
        all.of[i] = *each.arrays;
        blocks = std::max(blocks, each.blocks);
        shared = std::max(shared, each.shared);
      }
      first.kernels.together<<<dim3(blocks, static_cast<unsigned>(count)), first.threads, shared,
                               slot.stream>>>(all, slot.counts.data());
    }
    check_launch();
    slot.stream.wait();
    DeviceMoveCounts counts[Together<Arrays>::kMost];
    slot.counts.download(counts, slot.stream, count);
    for (std::size_t i = 0; i < count; ++i) slot.batch[i]->counts = counts[i];
  }

  std::mutex mutex_;
  std::deque<Call*> waiting_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<Slot*> free_;
};

}  // namespace manymove::adsorption
