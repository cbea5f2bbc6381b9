// SPDX-License-Identifier: BSD-3-Clause
// The watch over devices that wait for each other, with two streams of one device in their places.
// Argument: what the second one does. Prints the error and the seconds until it came; exit status 3
// if kernels are still at work then.
#include <chrono>
#include <cstdio>
#include <string>

#include "core/coulomb/cuda/brush.cuh"
#include "core/coulomb/cuda/chain_watchdog.cuh"

using namespace manymove;
using namespace manymove::coulomb;

// As a sweep's kernel: another device has to decide the first group.
__global__ void wait_kernel(Buffers b, Devices devices) { Progress{b, devices}.wait(0); }
__device__ long long nanoseconds() {
  long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}
__global__ void count_slowly_kernel(unsigned* own, unsigned* other, unsigned groups) {
  for (unsigned k = 1; k <= groups; ++k) {
    const long long start = nanoseconds();
    while (nanoseconds() - start < 1'000'000'000) __nanosleep(1000000);
    *static_cast<volatile unsigned*>(own) = k;
  }
  *static_cast<volatile unsigned*>(other) = groups;
}
__global__ void trap_kernel() { __trap(); }

int main(int, char** arguments) {
  const std::string other = arguments[1];
  DeviceBuffer<unsigned> decided(2);
  Stream streams[2];
  decided.clear(streams[0]);
  check(cudaDeviceSynchronize(), "clear");
  Watch watch;
  Devices devices{};
  devices.count = 2;
  for (int d = 0; d < 2; ++d) {
    devices.decided[d] = decided.data() + d;
    watch.add(0, streams[d], devices.decided[d]);
  }
  Buffers buffers{};
  buffers.decided = decided.data();
  // A kernel that is loaded at its first launch would wait for those at work.
  for (const auto kernel : {reinterpret_cast<const void*>(&trap_kernel),
                            reinterpret_cast<const void*>(&count_slowly_kernel)}) {
    cudaFuncAttributes attributes;
    check(cudaFuncGetAttributes(&attributes, kernel), "kernel");
  }
  const unsigned sweeps = other == "counts slowly" ? 1 : 256, groups = 4;
  for (unsigned k = 0; k < sweeps; ++k) {
    wait_kernel<<<1, 1, 0, streams[0]>>>(buffers, devices);
    check(cudaMemsetAsync(decided.data(), 0, sizeof(unsigned), streams[0]), "clear");
  }
  if (other == "traps") trap_kernel<<<1, 1, 0, streams[1]>>>();
  if (other == "counts slowly")
    count_slowly_kernel<<<1, 1, 0, streams[1]>>>(decided.data() + 1, decided.data(), groups);
  const auto start = std::chrono::steady_clock::now();
  try {
    watch.wait();
  } catch (const std::exception& error) {
    std::printf("%s\n", error.what());
    watch.stop();
  }
  std::printf("%.2f\n",
              std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  std::fflush(stdout);
  // A wait for these kernels would never return.
  if (watch.busy()) std::_Exit(3);
}
