// SPDX-License-Identifier: BSD-3-Clause
// How bytes go from the memory of one GPU to that of another rank's.
#pragma once

#include <dlfcn.h>

#include <atomic>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "waits.cuh"

namespace manymove {

// Waits until this rank's GPU has done all that its engine has asked for, or throws.
using Finish = std::function<void()>;

class Transport {
 public:
  Transport(Communicator& communicator, Finish finish)
      : communicator_(communicator), wait_(communicator), finish_(std::move(finish)) {}
  // Of one rank to another. data, of the device: where kernels put what is sent, and find what has
  // come.
  struct Parcel {
    int rank;
    std::size_t bytes;
    char* data;
  };
  using Parcels = std::vector<Parcel>;

  // Local: a rank that has failed is destroyed while the others still run.
  virtual ~Transport() = default;
  virtual std::string name() const = 0;
  // Collective, with the same number on all ranks: what parcels are likely to need.
  virtual void expect(std::size_t) {}
  // Finds places for the parcels of the next exchange. In memory of this rank they follow each
  // other.
  virtual void place(Parcels& sent, Parcels& received) {
    place_here(sent, out_);
    place_here(received, in_);
  }
  // After what is in the stream, before what comes there.
  virtual void exchange(const Parcels& sent, const Parcels& received, cudaStream_t stream) = 0;
  // After a failure: kernels of this rank stop waiting for other ranks, and what they should have
  // received is undefined. Nothing is exchanged any more.
  virtual void abandon() noexcept {}

 protected:
  Communicator& communicator_;
  const RankWaits wait_;
  const Finish finish_;

 private:
  void place_here(Parcels& parcels, DeviceBuffer<char>& memory) {
    std::size_t total = 0;
    for (const Parcel& parcel : parcels) total += parcel.bytes;
    if (total > memory.size()) {
      finish_();
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
  using Transport::Transport;

  std::string name() const override { return "page-locked host memory and MPI"; }

  void exchange(const Parcels& sent, const Parcels& received, cudaStream_t stream) override {
    const auto out = on_host(sent, out_), in = on_host(received, in_);
    for (std::size_t k = 0; k < sent.size(); ++k)
      copy_out(out[k].data, sent[k].data, sent[k].bytes, stream);
    // Also completes the previous exchange's uploads from in_.
    wait_(stream, "copy for other ranks");
    try {
      communicator_.exchange(out, in);
    } catch (...) {
      keep_for_ever(out_, in_);
      throw;
    }
    for (std::size_t k = 0; k < received.size(); ++k)
      copy_in(received[k].data, in[k].data, received[k].bytes, stream);
  }

 private:
  // One after the other in memory.
  std::vector<Communicator::Message> on_host(const Parcels& parcels, PinnedBuffer<char>& memory) {
    std::size_t total = 0;
    for (const Parcel& parcel : parcels) total += parcel.bytes;
    if (total > memory.size()) {
      finish_();
      memory = {};
      memory = PinnedBuffer<char>(total + total / 8);
    }
    char* at = memory.data();
    std::vector<Communicator::Message> messages;
    for (const Parcel& parcel : parcels) {
      messages.push_back({parcel.rank, at, parcel.bytes});
      at += parcel.bytes;
    }
    return messages;
  }

  PinnedBuffer<char> out_, in_;
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
  int (*comm_abort)(Comm) = nullptr;
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
    find(comm_abort, "ncclCommAbort");
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
  // Collective.
  NcclTransport(Communicator& communicator, Finish finish)
      : Transport(communicator, std::move(finish)), nccl_(*Nccl::get()) {
    Nccl::Id id{};
    together(communicator, [&] {
      if (communicator.rank() == 0) nccl_.check(nccl_.get_unique_id(&id), "identifier");
    });
    std::vector<Nccl::Id> all(static_cast<std::size_t>(communicator.ranks()));
    communicator.gather(&id, all.data(), sizeof id);
    const auto comm = std::make_shared<Nccl::Comm>();
    const int status = watched(
        [&nccl = nccl_, comm, ranks = communicator.ranks(), id = all[0],
         rank = communicator.rank()] { return nccl.comm_init_rank(comm.get(), ranks, id, rank); });
    comm_ = *comm;
    together(communicator, [&] { nccl_.check(status, "start"); });
  }
  // Destroying a communicator may wait for the other ranks; aborting it does not. No message is in
  // flight any more, unless there was a failure.
  ~NcclTransport() override { abandon(); }

  std::string name() const override { return "NCCL"; }

  void exchange(const Parcels& sent, const Parcels& received, cudaStream_t stream) override {
    if (sent.empty() && received.empty()) return;
    const auto start = [&nccl = nccl_, comm = comm_, sent, received, stream] {
      int status = nccl.group_start();
      for (const Parcel& p : sent)
        if (!status) status = nccl.send(p.data, p.bytes, Nccl::kBytes, p.rank, comm, stream);
      for (const Parcel& p : received)
        if (!status) status = nccl.recv(p.data, p.bytes, Nccl::kBytes, p.rank, comm, stream);
      const int end = nccl.group_end();
      return status ? status : end;
    };
    nccl_.check(are_connected(sent, received) ? start() : watched(start), "exchange");
  }

  void abandon() noexcept override {
    if (comm_) nccl_.comm_abort(std::exchange(comm_, nullptr));
  }

 private:
  // Two ranks are connected by their first parcel. The call that starts the exchange waits for the
  // other rank then.
  bool are_connected(const Parcels& sent, const Parcels& received) {
    const std::size_t before = connected_.size();
    for (const Parcel& p : sent) connected_.insert({p.rank, true});
    for (const Parcel& p : received) connected_.insert({p.rank, false});
    return connected_.size() == before;
  }
  // The library cannot be asked to give up a call that waits for another rank. A thread makes it,
  // so that this one can watch the others; after a failure the thread is left behind.
  template <class Call>
  int watched(Call call) {
    int device;
    check(cudaGetDevice(&device), "device");
    struct Outcome {
      std::atomic<bool> there{false};
      int status = 0;
    };
    const auto outcome = std::make_shared<Outcome>();
    std::thread([call = std::move(call), outcome, device] {
      select_device(device);
      outcome->status = call();
      outcome->there = true;
    }).detach();
    communicator_.watchdog().wait([&] { return outcome->there.load(); });
    return outcome->status;
  }

  const Nccl& nccl_;
  Nccl::Comm comm_ = nullptr;
  std::set<std::pair<int, bool>> connected_;  // rank, and whether parcels go there
};

}  // namespace manymove
