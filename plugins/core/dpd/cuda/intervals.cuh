// SPDX-License-Identifier: BSD-3-Clause
// Launches of the kernel that makes all steps between two builds of lists.
#pragma once

#include "interval_kernel.cuh"

namespace manymove::dpd {

template <Precision P>
class Intervals {
 public:
  // The kernel reports only at its end, and the host checks for interruption between two of them.
  static constexpr std::int64_t kMostSteps = 1024;

  explicit Intervals(cudaStream_t stream) : barrier_(kHalfLists<P> ? 1 : 0) {
    if constexpr (kHalfLists<P>) barrier_.clear(stream);
  }

  bool serve() const { return blocks_ > 0; }
  // The first step of the last launch.
  std::int64_t begin() const { return begin_; }

  void give_up() { blocks_ = 0; }
  // Whether the kernel serves so many particles: all of its blocks must run at a time, and where
  // there are more of them on a multiprocessor, a kernel for each step is faster.
  void look(int count, int lanes) {
    const int blocks = blocks_for(count * lanes), tile = kThreads / lanes;
    give_up();
    if (!device_attribute(cudaDevAttrCooperativeLaunch) || blocks > kMostBarrierBlocks ||
        blocks > multiprocessors() * kIntervalBlocks)
      return;
    // A third of the memory for pairs and the rest for ghosts.
    const int room =
        device_attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor) / kIntervalBlocks -
        device_attribute(cudaDevAttrReservedSharedMemoryPerBlock) -
        static_cast<int>(attributes_of(&interval_kernel<P>).sharedSizeBytes) - tile * kOwnBytes -
        1024;
    pairs_ = room / 3 / 4 / 32 * 32;
    ghosts_ = room * 2 / 3 / kGhostBytes / 4 * 4;
    if (ghosts_ < 256) return;
    bytes_ = static_cast<unsigned>((tile + ghosts_) * kOwnBytes + 4 * (pairs_ + ghosts_));
    allow_shared_memory(&interval_kernel<P>, bytes_, "kernel");
    if (blocks <=
        blocks_side_by_side(&interval_kernel<P>, kIntervalThreads, bytes_) * multiprocessors())
      blocks_ = blocks;
  }

  // Up to `steps` steps, until lists expire. The rest of `a` is the caller's.
  void launch(Interval a, std::int64_t steps, cudaStream_t stream) {
    begin_ = a.step.number;
    a.steps = static_cast<int>(steps);
    a.barrier = barrier_.data();
    a.ghosts = ghosts_;
    a.pairs = pairs_;
    void* arguments[] = {&a};
    const auto* const kernel = reinterpret_cast<const void*>(&interval_kernel<P>);
    check(cudaLaunchCooperativeKernel(kernel, dim3(static_cast<unsigned>(blocks_)),
                                      dim3(kIntervalThreads), arguments, bytes_, stream),
          "launch");
  }

 private:
  int blocks_ = 0, ghosts_ = 0, pairs_ = 0;  // blocks: none if the kernel does not serve
  std::size_t bytes_ = 0;                    // of shared memory
  std::int64_t begin_ = 0;
  DeviceBuffer<GridBarrier> barrier_;
};

}  // namespace manymove::dpd
