// SPDX-License-Identifier: BSD-3-Clause
// The foundations of the CUDA engines, with a stand-in for the CUDA runtime: these tests need
// neither a GPU nor the CUDA toolkit. The sources are compiled in a separate namespace.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "core/runtime/watchdog.h"
namespace manymove_on_fake_cuda {
using manymove::Watchdog;
}

#define manymove manymove_on_fake_cuda
#include "core/coulomb/cuda/chain_watchdog.cuh"
#include "core/runtime/devices.cu"
#undef manymove

#include "support/test.h"

using namespace manymove_on_fake_cuda;
using fake::runtime;
using manymove_on_fake_cuda::coulomb::ChainWatchdog;

namespace {

// Notes the device that is current when it is made, used and destroyed.
class Engine final : OnDevice {
 public:
  Engine(int device, std::vector<int>& devices) : OnDevice(device), memory_(1), devices_(devices) {
    const DeviceGuard here = use();
    note();
  }
  ~Engine() {
    const DeviceGuard here = use();
    note();
  }
  void look() {
    const DeviceGuard here = use();
    note();
  }
  int work(bool fails) {
    const DeviceGuard here = use();
    note();
    cudaSetDevice(3);
    if (fails) throw std::runtime_error("fails");
    return 7;
  }

 private:
  void note() { devices_.push_back(runtime.current()); }
  DeviceBuffer<int> memory_;  // made and freed on the device: the stand-in checks this
  std::vector<int>& devices_;
  const BetweenCalls between_calls_{*this};
};

// What an engine owns, in the order in which it is made.
struct Owners {
  Stream stream, urgent{Priority::highest, cudaStreamNonBlocking};
  DeviceBuffer<int> device{3};
  MappedMemory<unsigned> word;
  PinnedBuffer<char> pinned{10};
  Event event;
};
constexpr int kOwned = 6;

void kernel() {}

}  // namespace

TEST("a device guard restores the current device, whatever became current meanwhile") {
  cudaSetDevice(1);
  {
    const DeviceGuard guard(2);
    CHECK_EQUAL(runtime.current(), 2);
    cudaSetDevice(3);
  }
  CHECK_EQUAL(runtime.current(), 1);
  {
    const DeviceGuard guard;
    cudaSetDevice(0);
  }
  CHECK_EQUAL(runtime.current(), 1);
  try {
    const DeviceGuard guard(0);
    throw 1;
  } catch (int) {
  }
  CHECK_EQUAL(runtime.current(), 1);
  CHECK_THROWS(DeviceGuard(9), std::runtime_error, "device");
  CHECK_EQUAL(runtime.current(), 1);
}

TEST("a thread without a context has none again, and the device that it set is current") {
  std::vector<int> devices;
  {
    Engine engine(2, devices);
    engine.look();
    CHECK_EQUAL(runtime.context, -1);
    CHECK_EQUAL(runtime.current(), 0);
  }
  CHECK(devices == std::vector<int>(3, 2));
  CHECK_EQUAL(runtime.context, -1);
  CHECK(runtime.used == std::set<int>{2});
  CHECK_EQUAL(runtime.live, 0);
}

TEST("an engine is made, used and destroyed on its device, and the caller's is restored") {
  std::vector<int> devices;
  cudaSetDevice(1);
  {
    Engine engine(2, devices);
    CHECK_EQUAL(runtime.current(), 1);
    CHECK_EQUAL(engine.work(false), 7);
    CHECK_EQUAL(runtime.current(), 1);
    CHECK_THROWS(engine.work(true), std::runtime_error, "fails");
    CHECK_EQUAL(runtime.current(), 1);
    cudaSetDevice(0);  // by another library
    CHECK_EQUAL(engine.work(false), 7);
    CHECK_EQUAL(runtime.current(), 0);
  }
  CHECK_EQUAL(runtime.current(), 0);
  CHECK(devices == std::vector<int>(5, 2));
  CHECK_EQUAL(runtime.live, 0);
}

TEST("an engine without a device's number stays on the device that was current") {
  std::vector<int> devices;
  cudaSetDevice(3);
  Engine engine(-1, devices);
  cudaSetDevice(1);
  engine.work(false);
  CHECK(devices == std::vector<int>(2, 3));
  CHECK_EQUAL(runtime.current(), 1);
}

TEST("the current device is restored when an engine cannot be made") {
  std::vector<int> devices;
  cudaSetDevice(1);
  runtime.failing = 1;
  CHECK_THROWS(Engine(2, devices), DeviceMemoryError, "the GPU has no");
  CHECK_EQUAL(runtime.current(), 1);
  CHECK_THROWS(Engine(4, devices), std::invalid_argument, "\"cuda:4\" does not exist: 4");
  CHECK_EQUAL(runtime.current(), 1);
  runtime.devices = 0;
  CHECK_THROWS(Engine(0, devices), std::invalid_argument, "the driver shows no GPU");
}

TEST("an array of the pool waits for the calling thread's stream alone") {
  cudaSetDevice(1);
  runtime.log.clear();
  {
    const DeviceBuffer<int> array(3, Memory::pool);
    CHECK_EQUAL(array.size(), 3u);
  }
  const std::vector<std::string> calls{"memory of the pool 12 on device 1",
                                       "wait for stream 2 on device 1"};
  CHECK(runtime.log == calls);
  CHECK_EQUAL(runtime.live, 0);
  runtime.failing = runtime.allocations + 1;
  CHECK_THROWS(DeviceBuffer<int>(3, Memory::pool), DeviceMemoryError, "the GPU has no 1 MB left");
}

TEST("memory stays in the pool while many threads use a device") {
  runtime.log.clear();
  prepare_for_threads(1, true);
  prepare_for_threads(1, false);
  const std::vector<std::string> calls{"pool keeps 18446744073709551615 on device 1",
                                       "pool keeps 0 on device 1",
                                       "pool is trimmed to 0 on device 1"};
  CHECK(runtime.log == calls);
}

TEST("arrays of the pool may have what it keeps without a use") {
  CHECK_EQUAL(free_for_pool(), 1u + 5u - 3u);
}

TEST("whatever allocation fails, the owners made before it are released") {
  {
    const Owners owners;
  }
  CHECK_EQUAL(runtime.allocations, kOwned);
  CHECK_EQUAL(runtime.live, 0);
  for (int n = 1; n <= kOwned; ++n) {
    runtime.allocations = 0;
    runtime.failing = n;
    CHECK_THROWS(Owners(), std::bad_alloc, "");
    CHECK_EQUAL(runtime.allocations, n);
    CHECK_EQUAL(runtime.live, 0);
  }
}

TEST("streams have the priority and the flags that were asked for") {
  const Stream usual, urgent(Priority::highest), apart(Priority::lowest, cudaStreamNonBlocking);
  CHECK(runtime.log == std::vector<std::string>({"stream of priority 0, flags 0 on device 0",
                                                 "stream of priority -5, flags 0 on device 0",
                                                 "stream of priority 0, flags 1 on device 0"}));
}

TEST("page-locked memory moves with its owner, and mapped objects begin with their initial value") {
  struct Report {
    int step = 5;
  };
  {
    const MappedMemory<Report> report;
    CHECK_EQUAL(report->step, 5);
    PinnedBuffer<char> a(3);
    a[2] = 'x';
    PinnedBuffer<char> b = std::move(a);
    CHECK_EQUAL(b.size(), 3u);
    CHECK(b[2] == 'x');
    b = PinnedBuffer<char>(7);
    CHECK_EQUAL(b.size(), 7u);
  }
  CHECK_EQUAL(runtime.live, 0);
}

TEST("memory of another owner is registered, or used as it is where that is refused") {
  char memory[8];
  for (const int failing : {0, 1}) {
    runtime.allocations = 0;
    runtime.failing = failing;
    {
      const PinnedBuffer<char> shared(memory, sizeof memory);
      CHECK(shared.data() == memory);
      CHECK_EQUAL(runtime.live, failing ? 0 : 1);
    }
    CHECK_EQUAL(runtime.live, 0);
  }
}

TEST("only code for compute capability 9.0 and above waits for the former kernel") {
  for (const int version : {80, 86, 89, 90, 100, 120}) {
    runtime.ptx_version = version;
    CHECK_EQUAL(waits_for_former_kernel(&kernel), version >= 90);
  }
}

TEST("an array is copied after the work in its producer's stream, on the array's device") {
  int host = 0;
  cudaSetDevice(2);
  DeviceBuffer<int> array(1);
  *array.data() = 11;
  cudaSetDevice(1);
  const auto calls = [&](std::optional<std::uintptr_t> stream) {
    runtime.log.clear();
    copy_from_device(&host, array.data(), sizeof host, stream);
    return runtime.log;
  };
  using Log = std::vector<std::string>;
  CHECK(calls(77) == Log({"wait for stream 77 on device 2", "copy on device 2"}));
  CHECK_EQUAL(host, 11);
  CHECK(calls(1) == Log({"wait for stream 1 on device 2", "copy on device 2"}));
  CHECK(calls(0) == Log({"copy on device 2"}));
  CHECK(calls({}) == Log({"wait for the device on device 2", "copy on device 2"}));
  CHECK_EQUAL(runtime.current(), 1);
  for (const char* const call : {"wait for stream", "copy"}) {
    runtime.failing_call = call;
    CHECK_THROWS(calls(77), std::runtime_error, "copy of an input array");
    CHECK_EQUAL(runtime.current(), 1);
  }
  runtime.failing_call.clear();
  CHECK_THROWS(copy_from_device(&host, &host, sizeof host, 1), std::invalid_argument,
               "not in the memory of a CUDA device");
  copy_from_device(&host, nullptr, 0, 1);
  cudaSetDevice(2);  // where the array is freed
}

TEST("looking for devices leaves the current one as it is") {
  cudaSetDevice(3);
  CHECK_EQUAL(cuda_devices().size(), 4u);
  CHECK(why_no_cuda_devices().empty());
  CHECK_EQUAL(runtime.current(), 3);
  CHECK(runtime.used == std::set<int>{3});
}

namespace {

struct FakeClock {
  using duration = std::chrono::duration<double>;
  using time_point = std::chrono::time_point<FakeClock, duration>;
  static time_point now() { return time_point(duration(seconds)); }
  static inline double seconds = 0;
};

// Two devices; what their streams answer is up to the test.
struct Chain {
  Chain() {
    setenv("MANYMOVE_TIMEOUT", "0.5", 1);
    watch = std::make_unique<ChainWatchdog>();
    for (int d = 0; d < 2; ++d) {
      cudaSetDevice(d);
      watch->add(d, work(d), &decided[d]);
    }
    cudaSetDevice(0);
  }
  static cudaStream_t work(int d) { return reinterpret_cast<cudaStream_t>(16 + d); }
  // As 50 sweeps whose kernels wait for the other device: each ends when the device's counter says
  // that all is decided, and the next one begins at 0.
  void wait_on(int d) {
    runtime.work[work(d)] = [this, d] {
      if (ended[d] < 50 && decided[d] == ~0u) ++ended[d], decided[d] = 0;
      return ended[d] < 50 ? cudaErrorNotReady : cudaSuccess;
    };
  }
  unsigned decided[2] = {}, ended[2] = {};
  std::unique_ptr<ChainWatchdog> watch;
};

}  // namespace

TEST("a wait without progress ends after the limit, and a job's suspension does not count") {
  Patience<FakeClock> patience(60);
  for (int k = 0; k < 59; ++k) {
    FakeClock::seconds += k == 30 ? 1e6 : 1;
    CHECK(!patience.is_over(false));
  }
  CHECK(!patience.is_over(true));
  int polls = 0;
  for (; polls < 1000 && !patience.is_over(false); ++polls) FakeClock::seconds += 0.5;
  CHECK_EQUAL(polls, 120);
}

TEST("devices that end are waited for") {
  Chain chain;
  int polls = 0;
  runtime.work[Chain::work(1)] = [&] { return ++polls < 5 ? cudaErrorNotReady : cudaSuccess; };
  chain.watch->wait();
  CHECK_EQUAL(polls, 5);
  CHECK_EQUAL(runtime.current(), 0);
}

TEST("what is enqueued runs ahead by two calls of pace at most") {
  Chain chain;
  int polls = 0;
  runtime.work[Chain::work(1)] = [&] { return ++polls < 5 ? cudaErrorNotReady : cudaSuccess; };
  chain.watch->pace();
  chain.watch->pace();
  CHECK_EQUAL(polls, 0);
  chain.watch->pace();
  CHECK_EQUAL(polls, 5);
  CHECK_EQUAL(runtime.current(), 0);
}

TEST("a device that fails ends the kernels of the others, and is named") {
  Chain chain;
  chain.wait_on(0);
  runtime.work[Chain::work(1)] = [] { return cudaErrorIllegalAddress; };
  CHECK_THROWS(chain.watch->wait(), std::runtime_error, "cuda:1: an illegal memory access");
  CHECK(chain.watch->busy());
  chain.watch->stop();
  CHECK(!chain.watch->busy());
  CHECK_EQUAL(chain.ended[0], 50u);
  CHECK_EQUAL(runtime.current(), 0);
}

TEST("devices that wait for each other without progress are ended after the limit") {
  Chain chain;
  chain.wait_on(0);
  chain.wait_on(1);
  const auto start = std::chrono::steady_clock::now();
  CHECK_THROWS(chain.watch->wait(), std::runtime_error, "for 0.5 s (MANYMOVE_TIMEOUT)");
  CHECK(std::chrono::steady_clock::now() - start >= std::chrono::milliseconds(500));
  chain.watch->stop();
  CHECK(!chain.watch->busy());
}

TEST("devices that decide slowly are not given up") {
  Chain chain;
  const auto start = std::chrono::steady_clock::now();
  runtime.work[Chain::work(1)] = [&] {
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    chain.decided[1] = static_cast<unsigned>(4 * seconds);
    return seconds < 1.5 ? cudaErrorNotReady : cudaSuccess;
  };
  chain.watch->wait();
  CHECK_EQUAL(chain.decided[1], 6u);
}

TEST("a thread does not lower the shared memory that another one has allowed meanwhile") {
  runtime.shared_memory = 0;
  std::atomic<bool> read = false;
  runtime.after_limit = [&] {
    if (read.exchange(true)) return;  // the second thread does not wait
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  };
  std::thread slow([&] { allow_shared_memory(&kernel, 100, "shared memory"); });
  while (!read) std::this_thread::yield();
  allow_shared_memory(&kernel, 200, "shared memory");
  slow.join();
  runtime.after_limit = [] {};
  CHECK_EQUAL(runtime.shared_memory.load(), 200);
}
