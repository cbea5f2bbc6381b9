// SPDX-License-Identifier: BSD-3-Clause
// Segments travel by NVIDIA's library NCCL, which is loaded when it is there.
#pragma once

#include <dlfcn.h>

#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "transport.cuh"

namespace manymove {

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
    id = communicator.gathered(id)[0];
    const auto comm = std::make_shared<Nccl::Comm>();
    const int status = watched(
        [&nccl = nccl_, comm, ranks = communicator.ranks(), id, rank = communicator.rank()] {
          return nccl.comm_init_rank(comm.get(), ranks, id, rank);
        });
    comm_ = *comm;
    collective(communicator, [&] { nccl_.check(status, "start"); });
  }
  // Destroying a communicator may wait for the other ranks; aborting it does not. No message is in
  // flight any more, unless there was a failure.
  ~NcclTransport() override { abandon(); }

  std::string name() const override { return "NCCL"; }

  void exchange(const Segments& sent, const Segments& received, cudaStream_t stream) override {
    if (sent.empty() && received.empty()) return;
    const auto start = [&nccl = nccl_, comm = comm_, sent, received, stream] {
      // One group: sends and receives proceed together, so that no rank waits in a circle.
      int status = nccl.group_start();
      for (const Segment& p : sent)
        if (!status) status = nccl.send(p.data, p.bytes, Nccl::kBytes, p.rank, comm, stream);
      for (const Segment& p : received)
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
  // Two ranks are connected by their first segment. The call that starts the exchange waits for the
  // other rank then.
  bool are_connected(const Segments& sent, const Segments& received) {
    const std::size_t before = connected_.size();
    for (const Segment& p : sent) connected_.insert({p.rank, true});
    for (const Segment& p : received) connected_.insert({p.rank, false});
    return connected_.size() == before;
  }
  // The library cannot be asked to give up a call that waits for another rank. A thread makes it,
  // so that this one can watch the others; after a failure the thread is left behind.
  int watched(auto call) {
    int device;
    check(cudaGetDevice(&device), "device");
    struct Return {
      std::atomic<bool> is_there{false};
      int status = 0;
    };
    const auto result = std::make_shared<Return>();
    std::thread([call = std::move(call), result, device] {
      select_device(device);
      result->status = call();
      result->is_there = true;
    }).detach();
    communicator_.watchdog().wait([&] { return result->is_there.load(); });
    return result->status;
  }

  const Nccl& nccl_;
  Nccl::Comm comm_ = nullptr;
  std::set<std::pair<int, bool>> connected_;  // rank, and whether segments go there
};

}  // namespace manymove
