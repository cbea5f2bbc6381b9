// SPDX-License-Identifier: GPL-2.0-or-later
// LAMMPS' own classes of fixes, whose protected members are read through pointers to members.
#pragma once

#include <typeinfo>

#include "fix.h"

namespace LAMMPS_NS {

// The fix as one of exactly this class; null if it is of another class, for example a derived one.
template <class Own>
Own* as_exactly(Fix* fix) {
  return typeid(*fix) == typeid(Own) ? static_cast<Own*>(fix) : nullptr;
}

}  // namespace LAMMPS_NS
