// SPDX-License-Identifier: BSD-3-Clause
// How bytes go from the memory of one GPU to that of another rank's.
#pragma once

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <vector>

#include "../common/communicator.h"
#include "../common/device.cuh"

namespace manymove::dpd {

class Transport {
 public:
  using Message = Communicator::Message;  // data is memory of the device

  virtual ~Transport() = default;
  virtual std::string name() const = 0;
  // After what is in the stream, before what comes there.
  virtual void exchange(const std::vector<Message>& sent, const std::vector<Message>& received,
                        cudaStream_t stream) = 0;
};

// Through page-locked memory of the hosts; the calling thread waits.
class HostTransport : public Transport {
 public:
  explicit HostTransport(Communicator& communicator) : communicator_(communicator) {}

  std::string name() const override { return "page-locked host memory and MPI"; }

  void exchange(const std::vector<Message>& sent, const std::vector<Message>& received,
                cudaStream_t stream) override {
    std::vector<Message> out = on_host(sent, out_), in = on_host(received, in_);
    for (std::size_t k = 0; k < sent.size(); ++k)
      check(
          cudaMemcpyAsync(out[k].data, sent[k].data, sent[k].bytes, cudaMemcpyDeviceToHost, stream),
          "copy for other ranks");
    // Also for what is still on its way out of in_.
    check(cudaStreamSynchronize(stream), "copy for other ranks");
    communicator_.exchange(out, in);
    for (std::size_t k = 0; k < received.size(); ++k)
      check(cudaMemcpyAsync(received[k].data, in[k].data, received[k].bytes, cudaMemcpyHostToDevice,
                            stream),
            "copy from other ranks");
  }

 private:
  struct Pinned {
    char* data = nullptr;
    std::size_t bytes = 0;
    Pinned() = default;
    Pinned(const Pinned&) = delete;
    ~Pinned() { cudaFreeHost(data); }
  };

  // The same messages, one after the other in memory.
  std::vector<Message> on_host(std::vector<Message> messages, Pinned& memory) {
    std::size_t total = 0;
    for (const Message& message : messages) total += message.bytes;
    if (total > memory.bytes) {
      check(cudaDeviceSynchronize(), "host memory");
      cudaFreeHost(memory.data);
      memory.data = nullptr;
      memory.bytes = 0;
      check(cudaMallocHost(&memory.data, total + total / 8), "host memory");
      memory.bytes = total + total / 8;
    }
    char* at = memory.data;
    for (Message& message : messages) {
      message.data = at;
      at += message.bytes;
    }
    return messages;
  }

  Communicator& communicator_;
  Pinned out_, in_;
};

// NVIDIA's library, loaded if it is there; its few functions are declared here.
class Nccl {
 public:
  using Comm = void*;
  struct Id {
    char internal[128];
  };
  static constexpr int kBytes = 1;  // ncclUint8

  int (*get_unique_id)(Id*) = nullptr;
  int (*comm_init_rank)(Comm*, int ranks, Id, int rank) = nullptr;
  int (*comm_destroy)(Comm) = nullptr;
  int (*group_start)() = nullptr;
  int (*group_end)() = nullptr;
  int (*send)(const void*, std::size_t count, int type, int peer, Comm, cudaStream_t) = nullptr;
  int (*recv)(void*, std::size_t count, int type, int peer, Comm, cudaStream_t) = nullptr;
  const char* (*error_string)(int) = nullptr;

  // Stays loaded. Null where the library is not found.
  static const Nccl* get() {
    static const Nccl nccl;
    return nccl.error_string ? &nccl : nullptr;
  }
  void check(int status, const char* what) const {
    if (status != 0)
      throw std::runtime_error(std::string("NCCL: ") + what + ": " + error_string(status));
  }

 private:
  Nccl() {
    void* library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!library) return;
    bool all = true;
    const auto find = [&](auto& function, const char* name) {
      function =
          reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      all = all && function;
    };
    find(get_unique_id, "ncclGetUniqueId");
    find(comm_init_rank, "ncclCommInitRank");
    find(comm_destroy, "ncclCommDestroy");
    find(group_start, "ncclGroupStart");
    find(group_end, "ncclGroupEnd");
    find(send, "ncclSend");
    find(recv, "ncclRecv");
    find(error_string, "ncclGetErrorString");
    if (!all) error_string = nullptr;
  }
};

// From GPU to GPU, without the host.
class NcclTransport : public Transport {
 public:
  explicit NcclTransport(Communicator& communicator) : nccl_(*Nccl::get()) {
    Nccl::Id id{};
    if (communicator.rank() == 0) nccl_.check(nccl_.get_unique_id(&id), "identifier");
    std::vector<Nccl::Id> all(static_cast<std::size_t>(communicator.ranks()));
    communicator.gather(&id, all.data(), sizeof id);
    nccl_.check(nccl_.comm_init_rank(&comm_, communicator.ranks(), all[0], communicator.rank()),
                "start");
  }
  ~NcclTransport() override { nccl_.comm_destroy(comm_); }

  std::string name() const override { return "NCCL"; }

  void exchange(const std::vector<Message>& sent, const std::vector<Message>& received,
                cudaStream_t stream) override {
    if (sent.empty() && received.empty()) return;
    nccl_.check(nccl_.group_start(), "exchange");
    for (const Message& m : sent)
      nccl_.check(nccl_.send(m.data, m.bytes, Nccl::kBytes, m.rank, comm_, stream), "send");
    for (const Message& m : received)
      nccl_.check(nccl_.recv(m.data, m.bytes, Nccl::kBytes, m.rank, comm_, stream), "receive");
    nccl_.check(nccl_.group_end(), "exchange");
  }

 private:
  const Nccl& nccl_;
  Nccl::Comm comm_ = nullptr;
};

// Into the memory of the other GPUs of this host, opened by handles of CUDA's inter-process
// communication: copies, then a word that says so, all in the stream. Nobody waits on the host.
//
// Every exchange is between all ranks, if only of that word, and two places take turns for each
// pair: who has sent the next message has read this one.
constexpr int kMostPeers = 32;

struct PeerWords {
  unsigned* word[kMostPeers];
};
__global__ void tell_kernel(int ranks, int self, PeerWords there, unsigned number) {
  const int r = static_cast<int>(threadIdx.x);
  if (r >= ranks || r == self) return;
  __threadfence_system();
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(there.word[r]), "r"(number) : "memory");
}
// Until all have told; after a minute it gives up, which ends the program.
__global__ void hear_kernel(int ranks, int self, const unsigned* words, unsigned number) {
  const int r = static_cast<int>(threadIdx.x);
  if (r >= ranks || r == self) return;
  unsigned long long began, now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(began));
  for (;;) {
    unsigned word;
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(word) : "l"(words + r) : "memory");
    if (static_cast<int>(word - number) >= 0) break;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    if (now - began > 60'000'000'000ull) __trap();
    __nanosleep(200);
  }
  __threadfence_system();
}

class IpcTransport : public Transport {
 public:
  // Null, on all ranks, where somebody's memory does not open.
  static std::unique_ptr<Transport> open(Communicator& communicator) {
    std::unique_ptr<IpcTransport> transport(new IpcTransport(communicator));
    if (!transport->opened_) transport.reset();
    return transport;
  }
  ~IpcTransport() override {
    cudaDeviceSynchronize();
    for (void* there : there_)
      if (there) cudaIpcCloseMemHandle(there);
    cudaGetLastError();
    // Memory goes when nobody has it open any more, unless something else is wrong.
    std::int64_t closed = 1;
    if (opened_ && std::uncaught_exceptions() == 0) communicator_.maximum(&closed, 1);
  }

  std::string name() const override { return "memory of the other GPUs (CUDA IPC)"; }

  void exchange(const std::vector<Message>& sent, const std::vector<Message>& received,
                cudaStream_t stream) override {
    ++number_;
    std::vector<Message> large_out, large_in;
    for (const Message& m : sent) {
      if (m.bytes > kRoom) {
        large_out.push_back(m);
        continue;
      }
      check(cudaMemcpyAsync(room(there_[static_cast<std::size_t>(m.rank)], rank_), m.data, m.bytes,
                            cudaMemcpyDefault, stream),
            "copy to another GPU");
    }
    tell_kernel<<<1, kMostPeers, 0, stream>>>(ranks_, rank_, words_there_, number_);
    check(cudaGetLastError(), "launch");
    for (const Message& m : received)
      if (m.bytes > kRoom) large_in.push_back(m);
    if (!large_out.empty() || !large_in.empty()) host_.exchange(large_out, large_in, stream);
    hear_kernel<<<1, kMostPeers, 0, stream>>>(ranks_, rank_, words(memory_.data()), number_);
    check(cudaGetLastError(), "launch");
    for (const Message& m : received)
      if (m.bytes <= kRoom)
        check(cudaMemcpyAsync(m.data, room(memory_.data(), m.rank), m.bytes,
                              cudaMemcpyDeviceToDevice, stream),
              "copy from another GPU");
  }

 private:
  // For one message; larger ones go through the hosts, which both sides know by their size.
  static constexpr std::size_t kRoom = std::size_t(16) << 20;

  explicit IpcTransport(Communicator& communicator)
      : communicator_(communicator),
        host_(communicator),
        rank_(communicator.rank()),
        ranks_(communicator.ranks()) {
    if (ranks_ > kMostPeers) return;
    struct Offer {
      cudaIpcMemHandle_t handle;
      bool valid;
    } mine{};
    const auto size = static_cast<std::size_t>(ranks_);
    memory_ = DeviceBuffer<char>(2 * size * kRoom + kMostPeers * sizeof(unsigned));
    check(cudaMemset(words(memory_.data()), 0, kMostPeers * sizeof(unsigned)), "clear");
    check(cudaDeviceSynchronize(), "clear");
    mine.valid = cudaIpcGetMemHandle(&mine.handle, memory_.data()) == cudaSuccess;
    std::vector<Offer> all(size);
    communicator.gather(&mine, all.data(), sizeof mine);
    bool opened = mine.valid;
    there_.assign(size, nullptr);
    for (int r = 0; r < ranks_ && opened; ++r) {
      const auto k = static_cast<std::size_t>(r);
      if (r == rank_) continue;
      opened = all[k].valid && cudaIpcOpenMemHandle(&there_[k], all[k].handle,
                                                    cudaIpcMemLazyEnablePeerAccess) == cudaSuccess;
      if (opened) words_there_.word[r] = words(there_[k]) + rank_;
    }
    cudaGetLastError();
    std::int64_t failed = !opened;
    communicator.maximum(&failed, 1);
    opened_ = failed == 0;
  }

  unsigned* words(void* memory) const {
    return reinterpret_cast<unsigned*>(static_cast<char*>(memory) +
                                       2 * static_cast<std::size_t>(ranks_) * kRoom);
  }
  // Of what `sender` has for the owner of this memory.
  void* room(void* memory, int sender) const {
    const std::size_t place =
        (number_ & 1u) * static_cast<unsigned>(ranks_) + static_cast<unsigned>(sender);
    return static_cast<char*>(memory) + place * kRoom;
  }

  Communicator& communicator_;
  HostTransport host_;
  const int rank_, ranks_;
  bool opened_ = false;
  unsigned number_ = 0;  // of the exchange
  DeviceBuffer<char> memory_;
  std::vector<void*> there_;  // the memory of the others
  PeerWords words_there_{};
};

// wish: "auto", "ipc", "nccl" or "host". NCCL wants a GPU for each rank. Throws
// std::invalid_argument where it cannot be what was asked for; all ranks decide alike.
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
  mine.has_nccl = Nccl::get() != nullptr;
  std::vector<Place> all(static_cast<std::size_t>(communicator.ranks()));
  communicator.gather(&mine, all.data(), sizeof mine);
  std::string no_ipc, no_nccl, shared;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (std::memcmp(all[i].host, all[0].host, sizeof mine.host) != 0)
      no_ipc = "the ranks are on several hosts";
    if (!all[i].has_nccl) no_nccl = "libnccl.so.2 is not found";
    for (std::size_t j = 0; j < i; ++j)
      if (std::memcmp(all[i].uuid, all[j].uuid, sizeof mine.uuid) == 0)
        shared = "two ranks share a GPU";
  }
  if (no_nccl.empty()) no_nccl = shared;
  const auto refuse = [&](const std::string& why) {
    throw std::invalid_argument("transport " + wish + " cannot serve: " + why);
  };
  if (wish == "nccl" && !no_nccl.empty()) refuse(no_nccl);
  if (wish == "ipc" && !no_ipc.empty()) refuse(no_ipc);
  if (wish == "nccl") return std::make_unique<NcclTransport>(communicator);
  if (wish == "ipc" || (wish == "auto" && no_ipc.empty() && shared.empty())) {
    if (auto transport = IpcTransport::open(communicator)) return transport;
    if (wish == "ipc") refuse("the memory of another GPU does not open");
  }
  // Between hosts; on one of them it was slower than page-locked memory (docs/log.md).
  if (wish == "auto" && !no_ipc.empty() && no_nccl.empty())
    return std::make_unique<NcclTransport>(communicator);
  return std::make_unique<HostTransport>(communicator);
}

}  // namespace manymove::dpd
