// SPDX-License-Identifier: BSD-3-Clause
#include "Ranks.h"

#include <hoomd/ExecutionConfiguration.h>

#if defined(ENABLE_MPI)
#include "core/common/mpi_channel.h"
#endif

namespace manymove::host {

#if defined(ENABLE_MPI)
namespace {

class Ranks final : public harddisk::RankRing {
 public:
  // Collective.
  explicit Ranks(MPI_Comm communicator) : channel_(MpiChannel::of(communicator)) {}

  int rank() const override { return channel_.rank(); }
  int ranks() const override { return channel_.ranks(); }
  Watchdog& watchdog() override { return channel_.watchdog(); }

  void exchange(const Bytes out[2], const Bytes in[2]) override {
    constexpr int kDown = 1, kUp = 2;  // tags
    const int below = (rank() + ranks() - 1) % ranks(), above = (rank() + 1) % ranks();
    channel_.exchange(
        {{below, kDown, out[0].data, out[0].size}, {above, kUp, out[1].data, out[1].size}},
        {{below, kUp, in[0].data, in[0].size}, {above, kDown, in[1].data, in[1].size}});
  }

  void sum(double* values, std::size_t count) override {
    channel_.reduce(values, count, MPI_DOUBLE, MPI_SUM);
  }
  void sum(std::uint64_t* values, std::size_t count) override {
    channel_.reduce(values, count, MPI_UINT64_T, MPI_SUM);
  }

 private:
  MpiChannel& channel_;
};

}  // namespace
#endif

std::shared_ptr<harddisk::RankRing> ranks_of(const hoomd::ExecutionConfiguration& configuration) {
#if defined(ENABLE_MPI)
  if (configuration.getNRanks() > 1)
    return std::make_shared<Ranks>(configuration.getMPICommunicator());
#endif
  (void)configuration;
  return nullptr;
}

}  // namespace manymove::host
