// SPDX-License-Identifier: BSD-3-Clause
// Ghosts of ranks on one host go where the receiver reads them, by the kernel that packs them: into
// the memory of the other GPU, or into page-locked memory that all ranks have mapped. A word behind
// them tells that they are there; hosts take no part.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <exception>
#include <limits>

#include "transport.cuh"

namespace manymove::dpd {

constexpr int kMostPeers = 32;

// So many bytes of each rank, which all have mapped.
class PeerMemory {
 public:
  explicit PeerMemory(Communicator& communicator)
      : communicator_(communicator), of_rank_(static_cast<std::size_t>(communicator.ranks())) {}
  virtual ~PeerMemory() = default;
  PeerMemory(const PeerMemory&) = delete;
  PeerMemory& operator=(const PeerMemory&) = delete;

  char* of_rank(int rank) const { return of_rank_[static_cast<std::size_t>(rank)]; }

  // False, on all ranks, where it cannot be had. What was there is given back.
  virtual bool allocate(std::size_t bytes) = 0;

 protected:
  bool all_have(bool this_one) const {
    std::int64_t missing = !this_one;
    communicator_.maximum(&missing, 1);
    return missing == 0;
  }
  Communicator& communicator_;
  std::vector<char*> of_rank_;
};

// Of the GPUs, opened by handles of CUDA's inter-process communication.
class GpuMemory : public PeerMemory {
 public:
  using PeerMemory::PeerMemory;
  ~GpuMemory() override {
    cudaDeviceSynchronize();
    // Nobody has the memory open when it goes, unless something else is wrong.
    const bool together = memory_.size() && std::uncaught_exceptions() == 0;
    close();
    if (together) all_have(true);
  }

  bool allocate(std::size_t bytes) override {
    check(cudaDeviceSynchronize(), "memory for other ranks");
    close();
    all_have(true);  // nobody reads or writes the former memory
    struct Offer {
      cudaIpcMemHandle_t handle;
      bool valid;
    } mine{};
    memory_ = {};
    // Small pieces share a block of memory with others, of which a handle would be.
    try {
      memory_ = DeviceBuffer<char>(std::max(bytes, std::size_t(4) << 20));
    } catch (const DeviceMemoryError&) {  // all ranks hear of it below
    }
    if (memory_.size() > 0) {
      check(cudaMemset(memory_.data(), 0, memory_.size()), "clear");
      check(cudaDeviceSynchronize(), "clear");
      mine.valid = cudaIpcGetMemHandle(&mine.handle, memory_.data()) == cudaSuccess;
    }
    std::vector<Offer> all(of_rank_.size());
    communicator_.gather(&mine, all.data(), sizeof mine);
    bool opened = mine.valid;
    for (std::size_t r = 0; r < all.size() && opened; ++r) {
      void* memory = memory_.data();
      if (static_cast<int>(r) != communicator_.rank())
        opened = all[r].valid &&
                 cudaIpcOpenMemHandle(&memory, all[r].handle, cudaIpcMemLazyEnablePeerAccess) ==
                     cudaSuccess;
      if (opened) of_rank_[r] = static_cast<char*>(memory);
    }
    cudaGetLastError();
    return all_have(opened);
  }

 private:
  void close() {
    for (std::size_t r = 0; r < of_rank_.size(); ++r)
      if (of_rank_[r] && static_cast<int>(r) != communicator_.rank())
        cudaIpcCloseMemHandle(of_rank_[r]);
    of_rank_.assign(of_rank_.size(), nullptr);
    cudaGetLastError();
  }
  DeviceBuffer<char> memory_;
};

// Of the host, page-locked: one file in memory, which has no name any more when all have opened it.
class HostMemory : public PeerMemory {
 public:
  using PeerMemory::PeerMemory;
  ~HostMemory() override {
    cudaDeviceSynchronize();
    close();
  }

  bool allocate(std::size_t bytes) override {
    check(cudaDeviceSynchronize(), "memory for other ranks");
    close();
    const std::size_t page = 1 << 16;
    bytes = (bytes + page - 1) / page * page;
    bytes_ = bytes * of_rank_.size();
    static std::atomic<int> number{0};
    char name[64] = {};
    std::vector<char> all(of_rank_.size() * sizeof name);
    int file = -1;
    if (communicator_.rank() == 0) {
      std::snprintf(name, sizeof name, "/dev/shm/manymove.%d.%d", static_cast<int>(getpid()),
                    number++);
      file = ::open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
      if (file >= 0 && posix_fallocate(file, 0, static_cast<off_t>(bytes_)) != 0) {
        unlink(name);
        ::close(file);
        file = -1;
      }
    }
    communicator_.gather(name, all.data(), sizeof name);
    if (communicator_.rank() != 0) file = ::open(all.data(), O_RDWR | O_CLOEXEC);
    bool opened = file >= 0;
    if (opened) {
      void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
      opened = memory != MAP_FAILED;
      memory_ = opened ? static_cast<char*>(memory) : nullptr;
    }
    void* on_device = nullptr;
    if (opened) {
      registered_ = cudaHostRegister(memory_, bytes_, cudaHostRegisterMapped) == cudaSuccess;
      opened = registered_ && cudaHostGetDevicePointer(&on_device, memory_, 0) == cudaSuccess;
    }
    cudaGetLastError();
    const bool everywhere = all_have(opened);
    if (file >= 0) ::close(file);
    if (communicator_.rank() == 0 && file >= 0) unlink(name);
    for (std::size_t r = 0; r < of_rank_.size() && everywhere; ++r)
      of_rank_[r] = static_cast<char*>(on_device) + r * bytes;
    return everywhere;
  }

 private:
  void close() {
    if (registered_) cudaHostUnregister(memory_);
    if (memory_) munmap(memory_, bytes_);
    memory_ = nullptr;
    registered_ = false;
    cudaGetLastError();
  }
  char* memory_ = nullptr;
  std::size_t bytes_ = 0;
  bool registered_ = false;
};

// ---- words ----

struct PeerWords {
  unsigned* word[kMostPeers];
};

// One warp: tells the others that what this rank sends in an exchange is there, and waits until
// they have told.
__global__ void meet_kernel(int ranks, int self, PeerWords there, const PeerWords here,
                            unsigned number) {
  const int r = static_cast<int>(threadIdx.x);
  if (r >= ranks || r == self) return;
  __threadfence_system();
  asm volatile("st.release.sys.u32 [%0], %1;" ::"l"(there.word[r]), "r"(number) : "memory");
  unsigned long long began, now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(began));
  for (;;) {
    unsigned word;
    asm volatile("ld.acquire.sys.u32 %0, [%1];" : "=r"(word) : "l"(here.word[r]) : "memory");
    if (static_cast<int>(word - number) >= 0) break;
    // Hosts have met before; whoever is this late never comes. Ends the program.
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    if (now - began > 120'000'000'000ull) __trap();
  }
  __threadfence_system();
}

// Every exchange is between all ranks, if only of words, and two places take turns for each pair:
// who has sent the next parcel has read this one.
class PeerTransport : public Transport {
 public:
  PeerTransport(Communicator& communicator, std::unique_ptr<PeerMemory> memory, std::string name)
      : communicator_(communicator),
        host_(communicator),
        name_(std::move(name)),
        memory_(std::move(memory)),
        rank_(communicator.rank()),
        ranks_(communicator.ranks()) {}

  std::string name() const override { return name_; }

  // Whether there is a little memory.
  bool opens() { return ranks_ <= kMostPeers && make_room(kGrain); }
  void expect(std::size_t bytes) override {
    if (bytes <= room_ || bytes >= too_large_ || make_room(bytes + bytes / 4)) return;
    too_large_ = bytes;
    if (!make_room(kGrain))
      throw std::runtime_error("the memory of other ranks does not open again");
  }
  void meet() override {
    std::int64_t nothing = 0;
    communicator_.maximum(&nothing, 1);
  }

  // What there is no room for goes through the hosts, as both sides know by its size.
  void place(Parcels& sent, Parcels& received) override {
    ++number_;
    host_out_.clear();
    host_in_.clear();
    for (Parcel& p : sent)
      if (p.bytes > room_)
        host_out_.push_back(p);
      else
        p.data = room_in(memory_->of_rank(p.rank), rank_);
    for (Parcel& p : received)
      if (p.bytes > room_)
        host_in_.push_back(p);
      else
        p.data = room_in(memory_->of_rank(rank_), p.rank);
    if (host_out_.empty() && host_in_.empty()) return;
    host_.place(host_out_, host_in_);
    const auto give = [](const Parcels& from, Parcels& to) {
      for (const Parcel& p : from)
        for (Parcel& q : to)
          if (q.rank == p.rank) q.data = p.data;
    };
    give(host_out_, sent);
    give(host_in_, received);
  }

  void exchange(const Parcels&, const Parcels&, cudaStream_t stream) override {
    if (!host_out_.empty() || !host_in_.empty()) host_.exchange(host_out_, host_in_, stream);
    meet_kernel<<<1, kMostPeers, 0, stream>>>(ranks_, rank_, there_, here_, number_);
    check(cudaGetLastError(), "launch");
  }

 private:
  static constexpr std::size_t kGrain = std::size_t(1) << 16, kWord = 128;  // bytes

  // Words first, then two rooms for each rank.
  bool make_room(std::size_t bytes) {
    room_ = (bytes + kGrain - 1) / kGrain * kGrain;
    const auto ranks = static_cast<std::size_t>(ranks_);
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
    const std::size_t turn = number_ & 1u;
    return memory + kGrain + (turn * static_cast<unsigned>(ranks_) + sender) * room_;
  }

  Communicator& communicator_;
  HostTransport host_;
  const std::string name_;
  std::unique_ptr<PeerMemory> memory_;
  const int rank_, ranks_;
  std::size_t room_ = 0;                                             // for one parcel
  std::size_t too_large_ = std::numeric_limits<std::size_t>::max();  // found to be
  unsigned number_ = 0;                                              // of the exchange
  PeerWords there_{}, here_{};
  Parcels host_out_, host_in_;
};

// ---- which one ----

// wish: "auto", "peer", "shared", "nccl" or "host". Throws std::invalid_argument where it cannot be
// what was asked for; all ranks decide alike.
inline std::unique_ptr<Transport> make_transport(Communicator& communicator,
                                                 const std::string& wish) {
  struct Place {
    char host[64], uuid[16];
    bool has_nccl;
  } mine{};
  gethostname(mine.host, sizeof mine.host - 1);
  int device;
  check(cudaGetDevice(&device), "device");
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, device), "device");
  std::memcpy(mine.uuid, properties.uuid.bytes, sizeof mine.uuid);
  const bool automatic = wish == "auto";
  mine.has_nccl = (automatic || wish == "nccl") && Nccl::get();
  std::vector<Place> all(static_cast<std::size_t>(communicator.ranks()));
  communicator.gather(&mine, all.data(), sizeof mine);
  bool one_host = all.size() <= kMostPeers, share = false, nccl = true;
  for (std::size_t i = 0; i < all.size(); ++i) {
    one_host = one_host && std::memcmp(all[i].host, all[0].host, sizeof mine.host) == 0;
    nccl = nccl && all[i].has_nccl;
    for (std::size_t j = 0; j < i; ++j)
      share = share || std::memcmp(all[i].uuid, all[j].uuid, sizeof mine.uuid) == 0;
  }
  const auto refuse = [&](const char* why) {
    throw std::invalid_argument("transport " + wish + " cannot serve: " + why);
  };
  const auto peers = [&](auto memory, const char* name) -> std::unique_ptr<Transport> {
    auto transport = std::make_unique<PeerTransport>(communicator, std::move(memory), name);
    if (!transport->opens()) transport.reset();
    return transport;
  };
  const auto gpus = [&] {
    return peers(std::make_unique<GpuMemory>(communicator), "the memory of the GPUs (CUDA IPC)");
  };
  const auto host = [&] {
    return peers(std::make_unique<HostMemory>(communicator),
                 "page-locked host memory that ranks share");
  };
  if (wish == "peer" || wish == "shared") {
    if (!one_host) refuse("the ranks are on several hosts, or more than 32");
    if (auto transport = wish == "peer" ? gpus() : host()) return transport;
    refuse(wish == "peer" ? "the memory of another GPU does not open"
                          : "there is no page-locked memory to share");
  }
  if (wish == "nccl") {
    if (!nccl) refuse("libnccl.so.2 is not found");
    if (share) refuse("two ranks share a GPU");
    return std::make_unique<NcclTransport>(communicator);
  }
  // Kernels of ranks that share a GPU take turns in milliseconds: none should wait for another.
  if (automatic && !share) {
    if (one_host) {
      if (auto transport = gpus()) return transport;
      if (auto transport = host()) return transport;
    } else if (nccl) {
      return std::make_unique<NcclTransport>(communicator);
    }
  }
  return std::make_unique<HostTransport>(communicator);
}

}  // namespace manymove::dpd
