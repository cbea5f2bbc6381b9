// SPDX-License-Identifier: BSD-3-Clause
#include "Peers.h"

#include <hoomd/ExecutionConfiguration.h>

#if defined(ENABLE_MPI)
#include "core/common/mpi_channel.h"
#endif

namespace manymove::host {

#if defined(ENABLE_MPI)
namespace {

class Peers final : public Communicator {
 public:
  // Collective.
  explicit Peers(MPI_Comm communicator) : channel_(MpiChannel::of(communicator)) {}

  int rank() const override { return channel_.rank(); }
  int ranks() const override { return channel_.ranks(); }
  Watchdog& watchdog() override { return channel_.watchdog(); }

  void maximum(std::int64_t* values, int count) override {
    channel_.reduce(values, static_cast<std::size_t>(count), MPI_INT64_T, MPI_MAX);
  }
  void gather(const void* mine, void* all, std::size_t bytes) override {
    channel_.gather(mine, all, bytes);
  }
  void transpose(const std::int64_t* to, std::int64_t* from) override {
    channel_.transpose(to, from);
  }
  void exchange(const std::vector<Message>& sent, const std::vector<Message>& received) override {
    channel_.exchange(tagged(sent), tagged(received));
  }

 private:
  static std::vector<MpiChannel::Message> tagged(const std::vector<Message>& messages) {
    constexpr int kTag = 3;  // Ranks.cc has 1 and 2
    std::vector<MpiChannel::Message> all;
    all.reserve(messages.size());
    for (const Message& message : messages)
      all.push_back({message.rank, kTag, message.data, message.bytes});
    return all;
  }

  MpiChannel& channel_;
};

}  // namespace
#endif

std::unique_ptr<Communicator> peers_of(const hoomd::ExecutionConfiguration& configuration) {
#if defined(ENABLE_MPI)
  if (configuration.getNRanks() > 1)
    return std::make_unique<Peers>(configuration.getMPICommunicator());
#endif
  (void)configuration;
  return nullptr;
}

}  // namespace manymove::host
