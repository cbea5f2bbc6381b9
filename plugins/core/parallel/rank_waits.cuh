// SPDX-License-Identifier: BSD-3-Clause
// How the host of one of several ranks waits for its GPU.
#pragma once

#include "../runtime/waits.cuh"
#include "communicator.h"

namespace manymove {

// An engine of several ranks waits for its GPU, whose kernels may wait for those of other ranks.
// Throws RankFailure when another rank is silent or has failed.
class RankWaits {
 public:
  explicit RankWaits(Communicator& communicator) : watchdog_(communicator.watchdog()) {}

  // Polls tightly at first: ranks wait for a few steps in general, and the ghosts of the next step
  // wait for this host.
  template <class Work>
  void operator()(Work work, const char* what) const {
    const auto done = [&] { return has_ended(work, what); };
    Patience<> patience(0.2);
    for (int k = 1; !done(); ++k) {
      if (k % 64) continue;
      watchdog_.look();
      if (patience.is_over(false)) return watchdog_.wait(done);
      std::this_thread::yield();
    }
  }

 private:
  Watchdog& watchdog_;
};

}  // namespace manymove
