// SPDX-License-Identifier: GPL-2.0-or-later
// fix manymove/call: calls a function of the program that runs LAMMPS as a library, at the end of
// every N-th step. manymove.DPDFluid uses it for callbacks. The function may read the particles and
// thermodynamic keywords, but must not run commands.
#pragma once

#include "fix.h"

namespace LAMMPS_NS {

class FixManymoveCall : public Fix {
 public:
  FixManymoveCall(class LAMMPS* lmp, int narg, char** arg);

  int setmask() override;
  void end_of_step() override;

 private:
  void request_sums() const;  // of the next step with a call: virial and energy

  using Function = void (*)();
  Function function_;
};

}  // namespace LAMMPS_NS
