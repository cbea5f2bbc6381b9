// SPDX-License-Identifier: GPL-2.0-or-later
// What no engine serves, and agreement of the ranks about it.
#pragma once

#include <string>

#include "comm.h"
#include "mpi_communicator.h"
#include "pointers.h"

namespace LAMMPS_NS {

class Refusals : protected Pointers {
 public:
  explicit Refusals(class LAMMPS* lmp) : Pointers(lmp) {}

  // The commands, separated by commas; empty if all are served.
  const std::string& text() const { return text_; }
  bool empty() const { return text_.empty(); }
  void add(const std::string& culprit) { text_ += (text_.empty() ? "" : ", ") + culprit; }

  // Ranks may have found different culprits among their atoms: the longest list becomes that of
  // all. Collective.
  void share();
  // Whether all ranks say yes. Collective.
  bool all_agree(bool yes) const;

  // Runs a task of collective calls if there are several ranks; what they throw becomes an error of
  // LAMMPS.
  void on_all_ranks(auto task) const {
    if (comm->nprocs == 1) return;
    MpiCommunicator communicator = communicator_of(lmp);
    reported(lmp, "Run style manymove/verlet",
             [&] { manymove::collective(communicator, [&] { task(communicator); }); });
  }

 private:
  std::string text_;
};

// The fix in a list of what is refused, and what an input script can use instead.
std::string name_of(const class Fix* fix);

}  // namespace LAMMPS_NS
