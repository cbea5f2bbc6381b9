// SPDX-License-Identifier: BSD-3-Clause
// How a host waits for its GPU.
#pragma once

#include <chrono>
#include <stdexcept>
#include <thread>

#include "device.cuh"
#include "patience.h"
#include "text.h"

namespace manymove {

// cudaSuccess, cudaErrorNotReady or an error, of an event or of all work of a stream.
inline cudaError_t state_of(cudaEvent_t event) { return cudaEventQuery(event); }
inline cudaError_t state_of(cudaStream_t stream) { return cudaStreamQuery(stream); }

// Whether the work has ended. A fault of the device ends all work, and is thrown.
bool has_ended(auto work, const char* what) {
  const cudaError_t state = state_of(work);
  if (state != cudaErrorNotReady) check(state, what);
  if (state == cudaErrorNotReady) cudaGetLastError();  // it is not an error of the next launch
  return state == cudaSuccess;
}

// Called between the polls of a wait. At first the thread keeps its core, because the operating
// system gives a yielded core to other programs for milliseconds. In a long wait it sleeps; after a
// sleep the scheduler prefers it to programs that never sleep.
class Rest {
 public:
  void operator()() {
    constexpr auto kAwake = std::chrono::microseconds(150), kAsleep = std::chrono::microseconds(10);
    if (looks_++ % 16 != 0) return relax();
    if (Time::now() - began_ < kAwake) return relax();
    looks_ = 0;
    std::this_thread::sleep_for(kAsleep);
  }

 private:
  using Time = std::chrono::steady_clock;
  static void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  const Time::time_point began_ = Time::now();
  unsigned looks_ = 0;
};

// An engine alone waits for `advanced`, which it polls; once in a millisecond without it, which a
// GPU at work seldom takes, asks the stream for faults. Throws after `limit` seconds of this, or
// five seconds after interrupted() has become true.
void wait_alone(const auto& advanced, cudaStream_t stream, double limit, const char* what,
                bool (*interrupted)()) {
  if (advanced()) return;
  using Time = std::chrono::steady_clock;
  constexpr auto kLook = std::chrono::milliseconds(1);
  constexpr double kGrace = 5;
  Patience<> patience(limit), of_user(kGrace);
  bool asked = false;
  Rest rest;
  for (auto next = Time::now() + kLook; !advanced(); rest()) {
    if (Time::now() < next) continue;
    next = Time::now() + kLook;
    has_ended(stream, what);
    asked = asked || (interrupted && interrupted());
    if (of_user.is_over(!asked))
      throw std::runtime_error(text_of(
          "CUDA: ", what, ": interrupted, but the GPU has not answered for ", kGrace, " s"));
    if (patience.is_over(false))
      throw std::runtime_error(text_of("CUDA: ", what, ": the GPU has not answered for ", limit,
                                       " s (MANYMOVE_TIMEOUT)"));
  }
}

// After a failure: waits for the remaining work in the stream, but not forever. Returns false if it
// has not ended; after a fault of the device no work remains.
inline bool settles(cudaStream_t stream) {
  Patience<> patience(5);
  cudaError_t state;
  while ((state = cudaStreamQuery(stream)) == cudaErrorNotReady && !patience.is_over(false))
    std::this_thread::yield();
  cudaGetLastError();
  return state != cudaErrorNotReady;
}

}  // namespace manymove
