// SPDX-License-Identifier: BSD-3-Clause
// How bytes go from the memory of one GPU to that of another rank's.
#pragma once

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
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
      copy_out(out[k].data, sent[k].data, sent[k].bytes, stream);
    // Also for what is still on its way out of in_.
    check(cudaStreamSynchronize(stream), "copy for other ranks");
    communicator_.exchange(out, in);
    for (std::size_t k = 0; k < received.size(); ++k)
      copy_in(received[k].data, in[k].data, received[k].bytes, stream);
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

// wish: "auto", "nccl" or "host". NCCL wants a GPU for each rank. Throws std::invalid_argument
// where it is asked for and cannot be; all ranks decide alike.
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
  mine.has_nccl = wish != "host" && Nccl::get();
  std::vector<Place> all(static_cast<std::size_t>(communicator.ranks()));
  communicator.gather(&mine, all.data(), sizeof mine);
  std::string why;
  bool one_host = true;
  for (std::size_t i = 0; i < all.size(); ++i) {
    one_host = one_host && std::memcmp(all[i].host, all[0].host, sizeof mine.host) == 0;
    if (!all[i].has_nccl) why = "libnccl.so.2 is not found";
    for (std::size_t j = 0; j < i; ++j)
      if (std::memcmp(all[i].uuid, all[j].uuid, sizeof mine.uuid) == 0)
        why = "two ranks share a GPU";
  }
  if (wish == "nccl" && !why.empty())
    throw std::invalid_argument("transport nccl cannot serve: " + why);
  // Within a host page-locked memory was faster (docs/log.md).
  if (wish == "nccl" || (wish == "auto" && !one_host && why.empty()))
    return std::make_unique<NcclTransport>(communicator);
  return std::make_unique<HostTransport>(communicator);
}

}  // namespace manymove::dpd
