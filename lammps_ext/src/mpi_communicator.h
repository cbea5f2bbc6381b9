// SPDX-License-Identifier: GPL-2.0-or-later
// The ranks of LAMMPS for the engines of the core.
#pragma once

#include "core/common/communicator.h"
#include "core/common/mpi_channel.h"

namespace LAMMPS_NS {

class MpiCommunicator : public manymove::Communicator {
 public:
  // Collective.
  explicit MpiCommunicator(MPI_Comm world) : channel_(manymove::MpiChannel::of(world)) {}

  int rank() const override { return channel_.rank(); }
  int ranks() const override { return channel_.ranks(); }
  manymove::Watchdog& watchdog() override { return channel_.watchdog(); }
  void maximum(std::int64_t* values, int count) override;
  void gather(const void* mine, void* all, std::size_t bytes) override;
  void transpose(const std::int64_t* to, std::int64_t* from) override;
  void exchange(const std::vector<Message>& sent, const std::vector<Message>& received) override;

 private:
  manymove::MpiChannel& channel_;
};

// This rank's number among those of its host.
int rank_on_host(MPI_Comm world);

}  // namespace LAMMPS_NS
