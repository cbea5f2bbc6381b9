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
#include "../../runtime/waits.cuh"
#include "../../runtime/watchdog.h"

namespace manymove::coulomb {

class ChainWatchdog {
 public:
  // Throws std::invalid_argument for a bad MANYMOVE_TIMEOUT.
  ChainWatchdog() : limit_(Watchdog::timeout()) {}

  // Adds a device of the chain: `work` is its stream, and *decided is the number of groups decided
  // so far, for which its kernels wait. The device must be current.
  void add(int device, cudaStream_t work, unsigned* decided) {
    members_.push_back(std::make_unique<Member>(device, work, decided));
  }

  // Waits until all that is enqueued in the streams is done. Throws std::runtime_error when a
  // device has failed, or when no counter has changed for the limit; stop() is to be called then.
  void wait() {
    wait([](const Member& member) { return cudaStreamQuery(member.work); });
  }

  // The same, but waits only for what was enqueued before the last call but one: a launch blocks
  // when a thousand others are waiting, and the devices would not be watched meanwhile.
  void pace() {
    turn_ = 1 - turn_;
    wait([this](const Member& member) { return cudaEventQuery(member.reached[turn_]); });
    const DeviceGuard guard;
    for (const auto& member : members_) {
      check(select_device(member->device), "device");
      member->reached[turn_].record(member->work);
    }
  }
  // Makes the kernels end, with wrong results. The counters are set to "all groups are decided"
  // repeatedly, because groups that are decided meanwhile, and sweeps that begin, write them, too.
  // Returns when all streams are done, or after ten seconds.
  void stop() {
    Patience<> patience(10);
    while (busy() && !patience.is_over(false)) {
      on_side([](Member& member) {
        // 2^32 - 1 groups: no wait for a group is longer than that.
        cudaMemsetAsync(member.decided, 0xff, sizeof(unsigned), member.side);
      });
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
  bool busy() const {
    bool found = false;
    for (const auto& member : members_)
      found = found || cudaStreamQuery(member->work) == cudaErrorNotReady;
    cudaGetLastError();  // that a stream is busy is no error
    return found;
  }

 private:
  static constexpr std::chrono::milliseconds kLook{100};

  struct Member {
    Member(int device, cudaStream_t work, unsigned* decided)
        : device(device), work(work), decided(decided) {}
    int device;
    cudaStream_t work;
    unsigned* decided;
    unsigned known = 0;
    Stream side{Priority::lowest, cudaStreamNonBlocking};  // its copies overtake the kernels
    MappedMemory<unsigned> word;
    Event reached[2];
  };
  // Whether all work is done, of which state(member) is what CUDA says. Throws if a device has
  // failed.
  bool done(const auto& state) const {
    bool all = true;
    for (const auto& member : members_) {
      const cudaError_t error = state(*member);
      all = all && error == cudaSuccess;
      cudaGetLastError();  // that a stream is busy is no error
      if (error != cudaSuccess && error != cudaErrorNotReady)
        fail(text_of("cuda:", member->device, ": ", cudaGetErrorString(error)));
    }
    return all;
  }

  void wait(const auto& state) {
    using Clock = std::chrono::steady_clock;
    Patience<> patience(limit_);
    Rest rest;
    for (auto next_look = Clock::now() + kLook; !done(state); rest()) {
      bool progress = false;
      if (Clock::now() >= next_look) {
        next_look = Clock::now() + kLook;
        progress = look();
      }
      if (patience.is_over(progress))
        fail(text_of("no device has decided a trial for ", limit_, " s (MANYMOVE_TIMEOUT)"));
    }
  }

  // Calls step(member) for each member whose last copy is done. What fails here fails in the next
  // poll, too.
  void on_side(const auto& step) {
    const DeviceGuard guard;
    for (const auto& member : members_)
      if (cudaStreamQuery(member->side) == cudaSuccess &&
          select_device(member->device) == cudaSuccess)
        step(*member);
    cudaGetLastError();
  }

  // Whether any counter has changed since the last look.
  bool look() {
    bool progress = false;
    on_side([&](Member& member) {
      const unsigned seen = *static_cast<volatile unsigned*>(member.word.get());
      progress = progress || seen != member.known;
      member.known = seen;
      cudaMemcpyAsync(member.word.get(), member.decided, sizeof(unsigned), cudaMemcpyDeviceToHost,
                      member.side);
    });
    return progress;
  }

  [[noreturn]] static void fail(const std::string& why) {
    throw std::runtime_error("CUDA: a chain on several devices: " + why);
  }

  double limit_;
  int turn_ = 0;
  std::vector<std::unique_ptr<Member>> members_;
};

}  // namespace manymove::coulomb
