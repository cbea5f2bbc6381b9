// SPDX-License-Identifier: BSD-3-Clause
// Which transport the ranks use.
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>

#include "../runtime/text.h"
#include "nccl_transport.cuh"
#include "peer_transport.cuh"

namespace manymove {

namespace {

// What was asked for, or what the environment asks for. Collective: variables may differ between
// hosts.
std::string asked_for(Communicator& communicator, const std::string& wish) {
  const char* variable = std::getenv("MANYMOVE_TRANSPORT");
  std::array<char, 16> mine{"auto"};
  together(communicator, [&] {
    if (variable && !is_transport(variable))
      refuse("MANYMOVE_TRANSPORT is ", variable,
             "; it must be auto, peer, shared, nccl, mpi or host");
    if (variable) std::strncpy(mine.data(), variable, sizeof mine - 1);
  });
  if (wish != "auto") return wish;
  const auto all = communicator.gathered(mine);
  together(communicator, [&] {
    for (std::size_t r = 0; r < all.size(); ++r)
      if (std::strcmp(all[r].data(), all[0].data()) != 0)
        refuse("MANYMOVE_TRANSPORT is ", all[0].data(), " on rank 0 and ", all[r].data(),
               " on rank ", r);
  });
  return mine.data();
}

}  // namespace

std::unique_ptr<Transport> make_transport(Communicator& communicator, const std::string& asked,
                                          const Finish& finish) {
  const std::string wish = asked_for(communicator, asked);
  struct Surroundings {
    char host[64], uuid[16];
    bool has_nccl, has_mpi;
  } mine{};
  const bool automatic = wish == "auto";
  together(communicator, [&] {
    gethostname(mine.host, sizeof mine.host - 1);
    std::memcpy(mine.uuid, device_properties().uuid.bytes, sizeof mine.uuid);
    mine.has_nccl = (automatic || wish == "nccl") && Nccl::get();
    mine.has_mpi = communicator.takes_device_memory();
  });
  const std::vector<Surroundings> all = communicator.gathered(mine);
  bool one_host = all.size() <= kMostPeers, share = false, nccl = true, mpi = true;
  for (std::size_t i = 0; i < all.size(); ++i) {
    one_host = one_host && std::memcmp(all[i].host, all[0].host, sizeof mine.host) == 0;
    nccl = nccl && all[i].has_nccl;
    mpi = mpi && all[i].has_mpi;
    for (std::size_t j = 0; j < i; ++j)
      // Two ranks with the same UUID have one GPU.
      share = share || std::memcmp(all[i].uuid, all[j].uuid, sizeof mine.uuid) == 0;
  }
  const auto refuse_wish = [&](const char* why) {
    together(communicator, [&] { refuse("transport ", wish, " cannot serve: ", why); });
  };
  // A transport that was asked for by name works as it does for GPUs of their own.
  const bool host_waits = automatic && share;
  const auto peers = [&](auto memory, const char* name) -> std::unique_ptr<Transport> {
    auto transport = std::make_unique<PeerTransport>(
        communicator, finish, std::move(memory),
        host_waits ? PeerTransport::Waits::host : PeerTransport::Waits::kernel, name);
    if (!transport->opens()) transport.reset();
    return transport;
  };
  const auto gpus = [&] {
    return peers(std::make_unique<ExportedMemory<CudaExports>>(communicator, CudaExports(finish)),
                 host_waits ? "the memory of the GPUs (CUDA IPC), and MPI for those who share one"
                            : "the memory of the GPUs (CUDA IPC)");
  };
  const auto host = [&] {
    return peers(std::make_unique<CommonMemory<CudaMappings>>(communicator, CudaMappings(finish)),
                 "page-locked host memory that ranks share");
  };
  if (wish == "peer" || wish == "shared") {
    if (!one_host) refuse_wish("the ranks are on several hosts, or more than 32");
    if (auto transport = wish == "peer" ? gpus() : host()) return transport;
    refuse_wish(wish == "peer" ? "the memory of another GPU does not open"
                               : "there is no page-locked memory to share");
  }
  if (wish == "nccl") {
    if (!nccl) refuse_wish("libnccl.so.2 is not found");
    if (share) refuse_wish("two ranks share a GPU");
    return std::make_unique<NcclTransport>(communicator, finish);
  }
  if (wish == "mpi" && !mpi) refuse_wish("MPI does not report that it is CUDA-aware");
  if (automatic && one_host) {
    if (auto transport = gpus()) return transport;
    if (auto transport = host()) return transport;
  } else if (automatic && nccl && !share) {
    return std::make_unique<NcclTransport>(communicator, finish);
  }
  // What is left serves always, by the calling thread.
  if (mpi && wish != "host") return std::make_unique<MpiTransport>(communicator, finish);
  return std::make_unique<HostTransport>(communicator, finish);
}

}  // namespace manymove
