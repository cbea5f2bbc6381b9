// SPDX-License-Identifier: BSD-3-Clause
// Devices that decide one chain together wait for each other inside their kernels, which a fault of
// one of them would leave waiting forever. The host watches all of them. The kernels do not
// take part: to end them, the host overwrites the counters for which they wait.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "../../runtime/device.cuh"
#include "../../runtime/patience.h"
#include "../../runtime/text.h"
#include "../../runtime/watchdog.h"

namespace manymove::coulomb {

class Watch {
 public:
  // Throws std::invalid_argument for a bad MANYMOVE_TIMEOUT.
  Watch() : limit_(Watchdog::timeout()) {}

  // Adds a share of the chain: `work` is its stream, and *decided is the number of groups decided
  // so far, for which its kernels wait. The device must be current.
  void add(int device, cudaStream_t work, unsigned* decided) {
    shares_.push_back(std::make_unique<Share>(device, work, decided));
  }

  // Waits until all that is enqueued in the streams is done. Throws std::runtime_error when a
  // device has failed, or when no counter has changed for the limit; stop() is to be called then.
  void wait() {
    wait([](const Share& share) { return cudaStreamQuery(share.work); });
  }

  // The same, but waits only for what was enqueued before the last call but one: a launch blocks
  // when a thousand others are waiting, and the devices would not be watched meanwhile.
  void pace() {
    turn_ = 1 - turn_;
    wait([this](const Share& share) { return cudaEventQuery(share.reached[turn_]); });
    const DeviceGuard guard;
    for (const auto& share : shares_) {
      check(select_device(share->device), "device");
      share->reached[turn_].record(share->work);
    }
  }
  // Makes the kernels end, with wrong results. The counters are set to "all groups are decided"
  // repeatedly, because groups that are decided meanwhile, and sweeps that begin, write them, too.
  // Returns when all streams are done, or after ten seconds.
  void stop() {
    Patience<> patience(10);
    while (busy() && !patience.is_over(false)) {
      on_side(
          [](Share& share) { cudaMemsetAsync(share.decided, 0xff, sizeof(unsigned), share.side); });
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
  bool busy() const {
    return poll([](const Share& share) { return cudaStreamQuery(share.work); }).busy;
  }

 private:
  static constexpr std::chrono::milliseconds kLook{100};

  struct Share {
    Share(int device, cudaStream_t work, unsigned* decided)
        : device(device), work(work), decided(decided) {}
    int device;
    cudaStream_t work;
    unsigned* decided;
    unsigned known = 0;
    Stream side{Priority::lowest, cudaStreamNonBlocking};  // its copies overtake the kernels
    MappedMemory<unsigned> word;
    Event reached[2];
  };
  struct Status {
    bool busy = false;
    std::string failed;  // which device, and how; empty if none has
  };

  // state: a function of a share, what CUDA says of the work that is waited for.
  template <class State>
  Status poll(const State& state) const {
    Status status;
    for (const auto& share : shares_) {
      const cudaError_t error = state(*share);
      if (error == cudaErrorNotReady)
        status.busy = true;
      else if (error != cudaSuccess && status.failed.empty())
        status.failed = text_of("cuda:", share->device, ": ", cudaGetErrorString(error));
    }
    cudaGetLastError();  // that a stream is busy is no error
    return status;
  }

  template <class State>
  void wait(const State& state) {
    using Clock = std::chrono::steady_clock;
    Patience<> patience(limit_);
    const auto start = Clock::now();
    auto next_look = start + kLook;
    for (;;) {
      const Status status = poll(state);
      if (!status.failed.empty()) fail(status.failed);
      if (!status.busy) return;
      const auto now = Clock::now();
      bool progress = false;
      if (now >= next_look) {
        next_look = now + kLook;
        progress = look();
      }
      if (patience.is_over(progress))
        fail(text_of("no device has decided a trial for ", limit_, " s (MANYMOVE_TIMEOUT)"));
      // The first sweeps may take microseconds each; a batch takes a part of a second.
      if (now - start < std::chrono::milliseconds(10))
        std::this_thread::yield();
      else
        std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  }

  // Calls step(share) for each share whose last copy is done. What fails here fails in the next
  // poll, too.
  template <class Step>
  void on_side(const Step& step) {
    const DeviceGuard guard;
    for (const auto& share : shares_)
      if (cudaStreamQuery(share->side) == cudaSuccess &&
          select_device(share->device) == cudaSuccess)
        step(*share);
    cudaGetLastError();
  }

  // Whether any counter has changed since the last look.
  bool look() {
    bool progress = false;
    on_side([&](Share& share) {
      const unsigned seen = *static_cast<volatile unsigned*>(share.word.get());
      progress = progress || seen != share.known;
      share.known = seen;
      cudaMemcpyAsync(share.word.get(), share.decided, sizeof(unsigned), cudaMemcpyDeviceToHost,
                      share.side);
    });
    return progress;
  }

  [[noreturn]] static void fail(const std::string& why) {
    throw std::runtime_error("CUDA: a chain on several devices: " + why);
  }

  double limit_;
  int turn_ = 0;
  std::vector<std::unique_ptr<Share>> shares_;
};

}  // namespace manymove::coulomb
