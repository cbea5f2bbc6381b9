// SPDX-License-Identifier: BSD-3-Clause
// Which transport the ranks use.
#include <unistd.h>

#include <cstring>

#include "nccl_transport.cuh"
#include "peer_transport.cuh"

namespace manymove {

std::unique_ptr<Transport> make_transport(Communicator& communicator, const std::string& wish,
                                          const Finish& finish) {
  struct Place {
    char host[64], uuid[16];
    bool has_nccl;
  } mine{};
  const bool automatic = wish == "auto";
  together(communicator, [&] {
    gethostname(mine.host, sizeof mine.host - 1);
    int device;
    check(cudaGetDevice(&device), "device");
    cudaDeviceProp properties;
    check(cudaGetDeviceProperties(&properties, device), "device");
    std::memcpy(mine.uuid, properties.uuid.bytes, sizeof mine.uuid);
    mine.has_nccl = (automatic || wish == "nccl") && Nccl::get();
  });
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
    together(communicator,
             [&] { throw std::invalid_argument("transport " + wish + " cannot serve: " + why); });
  };
  const auto peers = [&](auto memory, const char* name) -> std::unique_ptr<Transport> {
    auto transport = std::make_unique<PeerTransport>(communicator, finish, std::move(memory), name);
    if (!transport->opens()) transport.reset();
    return transport;
  };
  const auto gpus = [&] {
    return peers(std::make_unique<ExportedMemory<CudaExports>>(communicator, CudaExports(finish)),
                 "the memory of the GPUs (CUDA IPC)");
  };
  const auto host = [&] {
    return peers(std::make_unique<CommonMemory<CudaMappings>>(communicator, CudaMappings(finish)),
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
    return std::make_unique<NcclTransport>(communicator, finish);
  }
  // Kernels of ranks that share a GPU take turns in milliseconds: none should wait for another.
  if (automatic && !share) {
    if (one_host) {
      if (auto transport = gpus()) return transport;
      if (auto transport = host()) return transport;
    } else if (nccl) {
      return std::make_unique<NcclTransport>(communicator, finish);
    }
  }
  return std::make_unique<HostTransport>(communicator, finish);
}

}  // namespace manymove
