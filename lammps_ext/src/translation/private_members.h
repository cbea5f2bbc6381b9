// SPDX-License-Identifier: GPL-2.0-or-later
// Pointers to members of LAMMPS' classes that are private and that no function returns.
#pragma once

#include <tuple>

namespace LAMMPS_NS {

// The language does not check access in the arguments of an explicit instantiation. Hence
//   struct OfClass { friend constexpr auto members_of(OfClass); };
//   template struct PrivateMembers<OfClass, &Class::first, &Class::second>;
// in this namespace make members_of(OfClass()) the tuple of these pointers. The compiler reports a
// class that does not have them.
template <class Name, auto... members>
struct PrivateMembers {
  friend constexpr auto members_of(Name) { return std::make_tuple(members...); }
};

}  // namespace LAMMPS_NS
