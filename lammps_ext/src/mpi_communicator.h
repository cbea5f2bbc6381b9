// SPDX-License-Identifier: GPL-2.0-or-later
// The ranks of LAMMPS for the engines of the core.
#pragma once

#include <mpi.h>

#include "core/common/communicator.h"

namespace LAMMPS_NS {

class MpiCommunicator : public manymove::Communicator {
 public:
  explicit MpiCommunicator(MPI_Comm world);

  int rank() const override { return rank_; }
  int ranks() const override { return ranks_; }
  void maximum(std::int64_t* values, int count) override;
  void gather(const void* mine, void* all, std::size_t bytes) override;
  void transpose(const std::int64_t* to, std::int64_t* from) override;
  void exchange(const std::vector<Message>& sent, const std::vector<Message>& received) override;

 private:
  MPI_Comm world_;
  int rank_, ranks_;
};

// This rank's number among those of its host.
int rank_on_host(MPI_Comm world);

}  // namespace LAMMPS_NS
