// SPDX-License-Identifier: GPL-2.0-or-later
// LAMMPS' own classes, and pointers to their members: protected ones are named by a derived class,
// and private ones by PrivateMembers.
#pragma once

#include <tuple>
#include <typeinfo>

#include "compute.h"
#include "fix.h"

namespace LAMMPS_NS {

// The fix as one of exactly this class; null if it is of another class, for example a derived one.
template <class Own>
Own* as_exactly(Fix* fix) {
  return typeid(*fix) == typeid(Own) ? static_cast<Own*>(fix) : nullptr;
}

// Whether the compute of a temperature counts the atoms in each step (compute_modify
// dynamic/dof yes).
inline bool recounts_atoms(const Compute* temperature) {
  struct OfCompute : Compute {
    using Compute::dynamic_user;
  };
  return temperature->*(&OfCompute::dynamic_user) != 0;
}

// For members that no function returns. The language does not check access in the arguments of an
// explicit instantiation. Hence
//   struct OfClass { friend constexpr auto members_of(OfClass); };
//   template struct PrivateMembers<OfClass, &Class::first, &Class::second>;
// in this namespace make members_of(OfClass()) the tuple of these pointers. The compiler reports a
// class that does not have them.
template <class Name, auto... members>
struct PrivateMembers {
  friend constexpr auto members_of(Name) { return std::make_tuple(members...); }
};

}  // namespace LAMMPS_NS
