// SPDX-License-Identifier: BSD-3-Clause
// The MPI ranks of a HOOMD-blue partition.
#pragma once

#include <memory>

#include "core/parallel/communicator.h"

namespace hoomd {
class ExecutionConfiguration;
}

namespace manymove::host {

// Null in a build of HOOMD-blue without MPI, and where there is one rank. Collective; from the
// first call on the ranks are watched (heartbeat.h), and a notice says where they are if that is on
// several hosts. Throws std::runtime_error on all ranks if they run different versions.
std::unique_ptr<Communicator> peers_of(const hoomd::ExecutionConfiguration& configuration);

// What an integrator on several ranks does: in a task that all ranks enter together, all succeed,
// or all throw the same error. The tasks must not contain HOOMD-blue's own collective calls, which
// wait without a limit.
class OnRanks {
 protected:
  explicit OnRanks(const hoomd::ExecutionConfiguration& configuration)  // collective
      : ranks_(peers_of(configuration)) {}

  template <class Task>
  void on_all_ranks(Task&& task) const {
    if (ranks_)
      collective(*ranks_, task);
    else
      task();
  }
  // Runs task(ranks) if there are several ranks.
  template <class Task>
  void among_ranks(Task&& task) const {
    if (ranks_) collective(*ranks_, [&] { task(*ranks_); });
  }
  // As on_all_ranks(), for a task without collective calls; the ranks can continue after an error.
  template <class Task>
  void on_each_rank(Task&& task) const {
    if (ranks_)
      together(*ranks_, task);
    else
      task();
  }
  // And for one of the first rank.
  template <class Task>
  void on_first_rank(Task&& task) const {
    on_each_rank([&] {
      if (!ranks_ || ranks_->rank() == 0) task();
    });
  }

  std::unique_ptr<Communicator> ranks_;  // null: this one is alone
};

}  // namespace manymove::host
