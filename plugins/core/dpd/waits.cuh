// SPDX-License-Identifier: BSD-3-Clause
// How a host waits for its GPU.
#pragma once

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>

#include "../common/communicator.h"
#include "../common/device.cuh"
#include "../common/text.h"
#include "../common/watchdog.h"

namespace manymove::dpd {

inline cudaError_t state_of(cudaEvent_t event) { return cudaEventQuery(event); }
inline cudaError_t state_of(cudaStream_t stream) { return cudaStreamQuery(stream); }

// Whether the work has ended. A fault of the device ends all work, and is thrown.
template <class Work>
bool has_ended(Work work, const char* what) {
  const cudaError_t state = state_of(work);
  if (state != cudaErrorNotReady) check(state, what);
  if (state == cudaErrorNotReady) cudaGetLastError();  // it is not an error of the next launch
  return state == cudaSuccess;
}

// Counts the seconds of a wait from its own polls. A poll adds at most one second, so that a job
// that was suspended finds little time gone when it is woken.
class WaitClock {
 public:
  double seconds() {
    const Time now = std::chrono::steady_clock::now();
    seconds_ += std::min(std::chrono::duration<double>(now - last_).count(), 1.0);
    last_ = now;
    return seconds_;
  }

 private:
  using Time = std::chrono::steady_clock::time_point;
  Time last_ = std::chrono::steady_clock::now();
  double seconds_ = 0;
};

// An engine alone waits for `advanced`. Polls it tightly; once in a millisecond without it, which a
// GPU at work never reaches, asks the stream for faults. Throws after `limit` counted seconds, or
// five seconds after interrupted() has become true.
template <class Advanced>
void wait_alone(const Advanced& advanced, cudaStream_t stream, double limit, const char* what,
                bool (*interrupted)()) {
  for (int k = 0; k < 64; ++k) {
    if (advanced()) return;
    std::this_thread::yield();
  }
  WaitClock clock;
  for (double next = 1e-3; !advanced(); std::this_thread::yield()) {
    const double waited = clock.seconds();
    if (waited < next) continue;
    next = waited + 1e-3;
    has_ended(stream, what);
    if (interrupted && waited < limit - 5 && interrupted()) limit = waited + 5;
    if (waited > limit)
      throw std::runtime_error(text_of("CUDA: ", what, ": the GPU has not answered for ", limit,
                                       " s (MANYMOVE_TIMEOUT)"));
  }
}

// An engine of several ranks waits for its GPU, whose kernels may wait for those of other ranks.
// Throws RankFailure when another rank is silent or has failed.
class RankWaits {
 public:
  explicit RankWaits(Communicator& communicator) : watchdog_(communicator.watchdog()) {}

  // Polls tightly at first: ranks wait for a few steps in general, and the ghosts of the next step
  // wait for this host.
  template <class Work>
  void operator()(Work work, const char* what) const {
    const auto done = [&] { return has_ended(work, what); };
    WaitClock clock;
    for (int k = 1; !done(); ++k) {
      if (k % 64) continue;
      watchdog_.look();
      if (clock.seconds() > 0.2) return watchdog_.wait(done);
      std::this_thread::yield();
    }
  }

 private:
  Watchdog& watchdog_;
};

// After a failure: waits for what is left in the stream, not for ever. False if it has not ended;
// after a fault of the device nothing is left.
inline bool settles(cudaStream_t stream) {
  WaitClock clock;
  cudaError_t state;
  while ((state = cudaStreamQuery(stream)) == cudaErrorNotReady && clock.seconds() < 5)
    std::this_thread::yield();
  cudaGetLastError();
  return state != cudaErrorNotReady;
}

}  // namespace manymove::dpd
