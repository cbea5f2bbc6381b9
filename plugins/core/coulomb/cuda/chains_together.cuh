// SPDX-License-Identifier: BSD-3-Clause
// Many small chains in two launches for each sweep of all of them: one in which a block prepares a
// chain, and one of all groups of all chains. Decisions do not depend on which chains share them.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cub/block/block_scan.cuh>

#include "../../runtime/gathering.h"
#include "../../runtime/launch.cuh"
#include "brush.cuh"

namespace manymove::coulomb {

// What kernels read of a chain, for its next sweeps.
struct SmallChain {
  Rules rules;
  ChainArrays arrays;  // counts: of the first of these sweeps
  PeerArrays peers;    // the chain's own arrays
  std::uint64_t first;
  int sweeps;

  MM_HD void go_on(int made) {
    first += static_cast<std::uint64_t>(made);
    arrays.counts += made;
  }
};

// A chain that waits for its sweeps, and the launches that it has in common with the others.
struct WaitingChain {
  SmallChain chain;
  void (*prepare)(const SmallChain*, int sweep);
  void (*decide)(const SmallChain*, int sweep);
  unsigned threads, groups;  // of a block that decides; of this chain
  std::size_t memory;        // shared, of such a block
};

namespace {

constexpr int kPreparing = 512;  // threads of a block

// What the launches before a sweep do for one chain (device_chain.cuh).
template <int S>
__global__ void __launch_bounds__(kPreparing) prepare_chains(const SmallChain* chains, int sweep) {
  using Scan = cub::BlockScan<unsigned, kPreparing>;
  const SmallChain& chain = chains[blockIdx.x];
  if (sweep >= chain.sweeps) return;
  __shared__ Rules r;
  __shared__ ChainArrays a;
  __shared__ typename Scan::TempStorage memory;
  copy_to_block(r, chain.rules);
  copy_to_block(a, chain.arrays);
  __syncthreads();
  if (threadIdx.x == 0) a.counts += sweep;
  const auto each = [](int count, const auto& work) {
    // The barrier ends a stage: the next one reads what other threads have written.
    for (int i = static_cast<int>(threadIdx.x); i < count; i += kPreparing) work(i);
    __syncthreads();
  };
  each(r.cells[0] * r.cells[1] * r.cells[2], [&](int cell) { a.head[cell] = -1; });
  each(a.ions, [&](int i) { propose_trial(r, a, chain.first + static_cast<unsigned>(sweep), i); });
  each(a.ions, [&](int i) { reject_early<blocked>(r, a, i); });
  each(a.ions, [&](int i) { reject_early<blocked_by_blocked>(r, a, i); });
  unsigned count = 0;  // of candidates before this part
  for (int begin = 0; begin < a.ions; begin += kPreparing) {
    const int i = begin + static_cast<int>(threadIdx.x);
    const unsigned mine = i < a.ions && a.candidate[i];
    unsigned before, all;
    Scan(memory).ExclusiveSum(mine, before, all);
    before += count;
    // Candidates from the front, the others from the back.
    if (i < a.ions) a.order[mine ? before : static_cast<unsigned>(a.ions - 1 - i) + before] = i;
    count += all;
    __syncthreads();
  }
  if (threadIdx.x == 0) *a.count = count, *a.ticket = 0, *a.decided = 0;
  __syncthreads();
  each(static_cast<int>(places_of<S>(a)),
       [&](int place) { put_in_place<S>(a, static_cast<unsigned>(place)); });
}

// A column of blocks for each chain, so that all chains begin side by side.
template <bool Double, Space B, int S, int Eta>
__global__ void __launch_bounds__(S* Eta, blocks_wanted(Double, B, S* Eta))
    decide_chains(const SmallChain* chains, int sweep) {
  const SmallChain& chain = chains[blockIdx.x];
  if (sweep >= chain.sweeps || blockIdx.y * S >= static_cast<unsigned>(chain.arrays.ions)) return;
  __shared__ Rules r;
  __shared__ ChainArrays a;
  __shared__ PeerArrays peers;
  copy_to_block(r, chain.rules);
  copy_to_block(a, chain.arrays);
  copy_to_block(peers, chain.peers);
  __syncthreads();
  // Each sweep of a chain counts on its own, in counts[sweep].
  if (threadIdx.x == 0) a.counts += sweep;
  __syncthreads();
  decide_group<Double, B, S, Eta>(r, a, peers);
}

// Launches for the chains of a group on one device.
class ChainLauncher : OnDevice {
  using All = Gathering<WaitingChain>;

 public:
  explicit ChainLauncher(int device)
      : OnDevice(device), gathering_(std::chrono::microseconds(100)) {}

  void join() { gathering_.join(); }
  void leave() { gathering_.leave(); }
  // Returns once the sweeps are made. What the chain's own stream has to do must be over.
  void run(WaitingChain& chain, std::uint64_t sweeps) {
    gathering_.run(chain, sweeps, [this](const All::Requests& all) { work(all); });
  }

 private:
  static constexpr std::uint64_t kSweeps = 16;  // of a batch; then others may join

  void work(const All::Requests& all) {
    const DeviceGuard here = use();
    const std::size_t count = all.size();
    if (host_.size() < count) {
      device_chains_ = DeviceBuffer<SmallChain>(count);
      host_ = PinnedBuffer<SmallChain>(count);  // last: its size tells that there is room
    }
    const WaitingChain& any = *all.front()->member;
    unsigned groups = 0;
    std::size_t memory = 0;
    int sweeps = 0;
    for (std::size_t i = 0; i < count; ++i) {
      auto& request = *all[i];
      WaitingChain& mine = *request.member;
      mine.chain.sweeps = static_cast<int>(std::min(kSweeps, request.left));
      host_[i] = mine.chain;
      mine.chain.go_on(mine.chain.sweeps);
      request.left -= static_cast<std::uint64_t>(mine.chain.sweeps);
      groups = std::max(groups, mine.groups);
      memory = std::max(memory, mine.memory);
      sweeps = std::max(sweeps, mine.chain.sweeps);
    }
    copy_in(device_chains_.data(), host_.data(), count * sizeof(SmallChain), stream_);
    allow_shared_memory(any.decide, memory, "shared memory for a group");
    const auto columns = static_cast<unsigned>(count);
    for (int sweep = 0; sweep < sweeps; ++sweep) {
      // As many rows of blocks as the largest chain has groups; blocks beyond those of their chain
      // end at once.
      any.prepare<<<columns, kPreparing, 0, stream_>>>(device_chains_.data(), sweep);
      any.decide<<<dim3(columns, groups), any.threads, memory, stream_>>>(device_chains_.data(),
                                                                          sweep);
    }
    const cudaError_t launched = cudaGetLastError();
    stream_.wait();  // also after an error: the next batch has the same memory
    check(launched, "launch");
    for (auto* const each : all) each->done = each->left == 0;
  }

  All gathering_;
  Stream stream_;
  PinnedBuffer<SmallChain> host_;
  DeviceBuffer<SmallChain> device_chains_;
  BetweenCalls between_calls_{*this};
};

}  // namespace
}  // namespace manymove::coulomb
