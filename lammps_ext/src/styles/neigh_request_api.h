// SPDX-License-Identifier: GPL-2.0-only
// NeighRequest::set_id(), by which a style distinguishes its neighbor lists. LAMMPS' installed
// headers leave it out; the header of a source tree is used where there is one.
#pragma once

#if __has_include("neigh_request.h")
#include "neigh_request.h"
#else

namespace LAMMPS_NS {

class NeighRequest {
 public:
  void set_id(int id);  // the id with which init_list() is called (default 0)
};

}  // namespace LAMMPS_NS
#endif
