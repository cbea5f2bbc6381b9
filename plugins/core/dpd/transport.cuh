// SPDX-License-Identifier: BSD-3-Clause
// How bytes go from the memory of one GPU to that of another rank's.
#pragma once

#include <dlfcn.h>

#include <memory>
#include <string>
#include <vector>

#include "../common/communicator.h"
#include "../common/device.cuh"

namespace manymove::dpd {

class Transport {
 public:
  // Of one rank to another. data, of the device: where kernels put what is sent, and find what has
  // come.
  struct Parcel {
    int rank;
    std::size_t bytes;
    char* data;
  };
  using Parcels = std::vector<Parcel>;

  virtual ~Transport() = default;
  virtual std::string name() const = 0;
  // All ranks, with the same number: what parcels are likely to need.
  virtual void expect(std::size_t) {}
  // Finds places for the parcels of the next exchange. In memory of this rank they follow each
  // other.
  virtual void place(Parcels& sent, Parcels& received) {
    place_here(sent, out_);
    place_here(received, in_);
  }
  // After what is in the stream, before what comes there.
  virtual void exchange(const Parcels& sent, const Parcels& received, cudaStream_t stream) = 0;
  // All ranks, before kernels of one wait for those of others: their hosts may be far apart.
  virtual void meet() {}

 private:
  static void place_here(Parcels& parcels, DeviceBuffer<char>& memory) {
    std::size_t total = 0;
    for (const Parcel& parcel : parcels) total += parcel.bytes;
    if (total > memory.size()) {
      memory = {};
      memory = DeviceBuffer<char>(total + total / 8);
    }
    char* at = memory.data();
    for (Parcel& parcel : parcels) {
      parcel.data = at;
      at += parcel.bytes;
    }
  }
  DeviceBuffer<char> out_, in_;
};

// Through page-locked memory of the hosts; the calling thread waits.
class HostTransport : public Transport {
 public:
  explicit HostTransport(Communicator& communicator) : communicator_(communicator) {}

  std::string name() const override { return "page-locked host memory and MPI"; }

  void exchange(const Parcels& sent, const Parcels& received, cudaStream_t stream) override {
    const auto out = on_host(sent, out_), in = on_host(received, in_);
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

  // One after the other in memory.
  static std::vector<Communicator::Message> on_host(const Parcels& parcels, Pinned& memory) {
    std::size_t total = 0;
    for (const Parcel& parcel : parcels) total += parcel.bytes;
    if (total > memory.bytes) {
      check(cudaDeviceSynchronize(), "host memory");
      cudaFreeHost(memory.data);
      memory.data = nullptr;
      memory.bytes = 0;
      check(cudaMallocHost(&memory.data, total + total / 8), "host memory");
      memory.bytes = total + total / 8;
    }
    char* at = memory.data;
    std::vector<Communicator::Message> messages;
    for (const Parcel& parcel : parcels) {
      messages.push_back({parcel.rank, at, parcel.bytes});
      at += parcel.bytes;
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

  void exchange(const Parcels& sent, const Parcels& received, cudaStream_t stream) override {
    if (sent.empty() && received.empty()) return;
    nccl_.check(nccl_.group_start(), "exchange");
    for (const Parcel& p : sent)
      nccl_.check(nccl_.send(p.data, p.bytes, Nccl::kBytes, p.rank, comm_, stream), "send");
    for (const Parcel& p : received)
      nccl_.check(nccl_.recv(p.data, p.bytes, Nccl::kBytes, p.rank, comm_, stream), "receive");
    nccl_.check(nccl_.group_end(), "exchange");
  }

 private:
  const Nccl& nccl_;
  Nccl::Comm comm_ = nullptr;
};

}  // namespace manymove::dpd
