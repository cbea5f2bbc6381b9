// SPDX-License-Identifier: BSD-3-Clause
// The executable's own pthread_create, which comes before that of the system or of a sanitizer.
#include "threads.h"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <limits>

namespace {
std::atomic<int> threads_left{std::numeric_limits<int>::max()};
}  // namespace

extern "C" __attribute__((visibility("default"))) int pthread_create(
    pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
    void* argument) noexcept {
  static const auto next =
      reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  if (threads_left.fetch_sub(1) <= 0) return EAGAIN;
  return next(thread, attributes, start, argument);
}

namespace manymove::test {

FewThreads::FewThreads(int threads) { threads_left = threads; }
FewThreads::~FewThreads() { threads_left = std::numeric_limits<int>::max(); }

}  // namespace manymove::test
