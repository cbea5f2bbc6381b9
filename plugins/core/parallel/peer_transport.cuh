// SPDX-License-Identifier: BSD-3-Clause
// Segments of ranks on one host go where the receiver reads them, by the kernel that packs them:
// into the memory of the other GPU, or into page-locked memory that all ranks have mapped. A word
// behind them shows that they are there; hosts take no part, unless ranks share a GPU. Included by
// transports.cu alone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cuda/atomic>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "../runtime/device.cuh"
#include "peer_memory.h"
#include "transport.cuh"

namespace manymove {

// Memory of the GPUs, opened by handles of CUDA's inter-process communication.
class CudaExports {
 public:
  using Handle = cudaIpcMemHandle_t;
  explicit CudaExports(Finish finish) : finish_(std::move(finish)) {}
  void finish() const { finish_(); }
  static void* allocate(std::size_t bytes) {
    // cudaMalloc cuts small pieces out of larger blocks, and a handle exports the whole block.
    void* memory = nullptr;
    check(cudaMalloc(&memory, std::max(bytes, std::size_t(4) << 20)), "memory for other ranks");
    return memory;
  }
  static void clear(void* memory, std::size_t bytes) {
    check(cudaMemset(memory, 0, bytes), "clear");
    check(cudaDeviceSynchronize(), "clear");
  }
  static Handle export_handle(void* memory) {
    Handle handle;
    check(cudaIpcGetMemHandle(&handle, memory), "memory for other ranks");
    return handle;
  }
  static void* open(const Handle& handle) {
    void* memory = nullptr;
    check(cudaIpcOpenMemHandle(&memory, handle, cudaIpcMemLazyEnablePeerAccess),
          "memory of another rank");
    return memory;
  }
  static void close(void* memory) noexcept {
    if (cudaIpcCloseMemHandle(memory) != cudaSuccess) cudaGetLastError();
  }
  static void free(void* memory) noexcept {
    if (cudaFree(memory) != cudaSuccess) cudaGetLastError();
  }

 private:
  Finish finish_;
};

// Memory of the host, page-locked.
class CudaMappings {
 public:
  explicit CudaMappings(Finish finish) : finish_(std::move(finish)) {}
  void finish() const { finish_(); }
  static void* map(void* memory, std::size_t bytes) {
    void* on_device = nullptr;
    if (cudaHostRegister(memory, bytes, cudaHostRegisterMapped) == cudaSuccess &&
        cudaHostGetDevicePointer(&on_device, memory, 0) != cudaSuccess)
      cudaHostUnregister(memory);
    cudaGetLastError();
    return on_device;
  }
  static void unmap(void* memory) noexcept {
    if (cudaHostUnregister(memory) != cudaSuccess) cudaGetLastError();
  }

 private:
  Finish finish_;
};

constexpr int kMostPeers = 32;

struct PeerWords {
  unsigned* word[kMostPeers];
};

// One warp: thread r writes to rank r that what this rank sends in an exchange is there, and waits
// until rank r has written the same, or until the host of this rank, which watches the other ranks,
// gives them up.
__global__ void handshake_kernel(int ranks, int self, PeerWords there, const PeerWords here,
                                 unsigned number, const unsigned* given_up) {
  const int r = static_cast<int>(threadIdx.x);
  if (r >= ranks || r == self) return;
  __threadfence_system();
  using Word = cuda::atomic_ref<unsigned, cuda::thread_scope_system>;
  // The segments, written by the kernels before this one, come before the word.
  Word(*there.word[r]).store(number, cuda::memory_order_release);
  for (unsigned turn = 1;; ++turn) {
    const unsigned word = Word(*here.word[r]).load(cuda::memory_order_acquire);
    // The difference wraps around: the other rank may be one exchange ahead.
    if (static_cast<int>(word - number) >= 0) break;
    // The host's memory is far: this looks there about once in a millisecond.
    if (turn % 1024 == 0 && *const_cast<const volatile unsigned*>(given_up)) break;
  }
  // The segments are read after the words, by the kernels behind this one.
  __threadfence_system();
}

// Every exchange is between all ranks, if only of words. Each pair of ranks is double buffered:
// segment n + 1 from a rank proves that it has read segment n, whose place may be used again.
class PeerTransport : public Transport {
 public:
  // Who waits for the segments of the other ranks: a kernel, or the calling thread, for ranks that
  // share a GPU. Their kernels take turns in milliseconds, and none should wait for another.
  enum class Waits { kernel, host };

  PeerTransport(Communicator& communicator, Finish finish, std::unique_ptr<PeerMemory> memory,
                Waits waits, std::string name)
      : Transport(communicator, finish),
        host_(communicator, finish),
        wait_(communicator),
        waits_(waits),
        name_(std::move(name)),
        memory_(std::move(memory)),
        rank_(communicator.rank()),
        ranks_(communicator.ranks()) {}

  std::string name() const override { return name_; }

  // Collective: whether there is a little memory.
  bool opens() { return ranks_ <= kMostPeers && make_room(kGrain); }
  void expect(std::size_t bytes) override {
    if (bytes <= room_ || bytes >= too_large_ || make_room(bytes + bytes / 4)) return;
    too_large_ = bytes;
    const bool opens_again = make_room(kGrain);
    together(communicator_, [&] {
      if (!opens_again) throw std::runtime_error("the memory of other ranks does not open again");
    });
  }
  void abandon() noexcept override { *static_cast<volatile unsigned*>(given_up_.get()) = 1; }

  // What there is no room for goes through the hosts, as both sides know by its size.
  void place(Segments& sent, Segments& received) override {
    ++number_;
    host_out_.clear();
    host_in_.clear();
    // A segment goes into the memory of its receiver, where each sender has a room of its own.
    for (Segment& p : sent)
      if (p.bytes > room_)
        host_out_.push_back(p);
      else
        p.data = room_in(memory_->of_rank(p.rank), rank_);
    for (Segment& p : received)
      if (p.bytes > room_)
        host_in_.push_back(p);
      else
        p.data = room_in(memory_->of_rank(rank_), p.rank);
    if (host_out_.empty() && host_in_.empty()) return;
    host_.place(host_out_, host_in_);
    const auto give = [](const Segments& from, Segments& to) {
      for (const Segment& p : from)
        for (Segment& q : to)
          if (q.rank == p.rank) q.data = p.data;
    };
    give(host_out_, sent);
    give(host_in_, received);
  }

  void exchange(const Segments&, const Segments&, cudaStream_t stream) override {
    if (!host_out_.empty() || !host_in_.empty()) host_.exchange(host_out_, host_in_, stream);
    if (waits_ == Waits::host) {
      wait_(stream, "segments for other ranks");
      std::int64_t nothing = 0;
      communicator_.maximum(&nothing, 1);  // a barrier
      return;
    }
    handshake_kernel<<<1, kMostPeers, 0, stream>>>(ranks_, rank_, there_, here_, number_,
                                                   given_up_.get());
    check_launch();
  }

 private:
  static constexpr std::size_t kGrain = std::size_t(1) << 16, kWord = 128;  // bytes

  // Words first, then two rooms for each rank.
  bool make_room(std::size_t bytes) {
    room_ = (bytes + kGrain - 1) / kGrain * kGrain;
    const auto ranks = static_cast<std::size_t>(ranks_);
    // kGrain bytes hold the words of kMostPeers ranks, kWord bytes apart: no two are in one cache
    // line.
    if (!memory_->allocate(kGrain + 2 * ranks * room_)) return false;
    number_ = 0;
    for (int r = 0; r < ranks_; ++r) {
      there_.word[r] = word_in(memory_->of_rank(r), rank_);
      here_.word[r] = word_in(memory_->of_rank(rank_), r);
    }
    return true;
  }
  static unsigned* word_in(char* memory, int sender) {
    return reinterpret_cast<unsigned*>(memory + static_cast<std::size_t>(sender) * kWord);
  }
  char* room_in(char* memory, int sender) const {
    // Segment n + 2 reuses the room of segment n.
    const std::size_t turn = number_ & 1u;
    return memory + kGrain + (turn * static_cast<unsigned>(ranks_) + sender) * room_;
  }

  HostTransport host_;
  const RankWaits wait_;
  const Waits waits_;
  const std::string name_;
  std::unique_ptr<PeerMemory> memory_;
  const int rank_, ranks_;
  const MappedMemory<unsigned> given_up_;
  std::size_t room_ = 0;                                             // for one segment
  std::size_t too_large_ = std::numeric_limits<std::size_t>::max();  // found to be
  unsigned number_ = 0;                                              // of the exchange
  PeerWords there_{}, here_{};
  Segments host_out_, host_in_;
};

}  // namespace manymove
