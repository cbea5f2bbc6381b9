// SPDX-License-Identifier: GPL-2.0-or-later
#include "styles/fix_manymove_call.h"

#include <charconv>
#include <cstdint>
#include <cstring>

#include "error.h"
#include "modify.h"
#include "update.h"

using namespace LAMMPS_NS;

// fix ID group manymove/call N address
FixManymoveCall::FixManymoveCall(LAMMPS* lmp, int narg, char** arg) : Fix(lmp, narg, arg) {
  if (narg != 5) error->all(FLERR, "Fix manymove/call: expected N and the address of a function");
  nevery = utils::inumeric(FLERR, arg[3], false, lmp);
  if (nevery < 1) error->all(FLERR, "Fix manymove/call: N must be positive, got {}", nevery);
  std::uintptr_t address = 0;
  const char* const end = arg[4] + std::strlen(arg[4]);
  const auto [rest, problem] = std::from_chars(arg[4], end, address);
  if (problem != std::errc() || rest != end || address == 0)
    error->all(FLERR, "Fix manymove/call: the address must be a positive integer, got {}", arg[4]);
  function_ = reinterpret_cast<Function>(address);
  dynamic_group_allow = 1;
  request_sums();
}

int FixManymoveCall::setmask() { return FixConst::END_OF_STEP; }

void FixManymoveCall::request_sums() const {
  modify->addstep_compute_all((update->ntimestep / nevery + 1) * nevery);
}

void FixManymoveCall::end_of_step() {
  modify->clearstep_compute();  // what they have computed is of an earlier step
  function_();
  request_sums();
}
