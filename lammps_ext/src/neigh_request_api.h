// SPDX-License-Identifier: GPL-2.0-only
// How a style tells its neighbor lists apart, which LAMMPS' installed headers leave out; a source
// tree's own header is taken where there is one.
#pragma once

#if __has_include("neigh_request.h")
#include "neigh_request.h"
#else

namespace LAMMPS_NS {

class NeighRequest {
 public:
  void set_id(int id);  // that init_list() is called with; 0 if it is not set
};

}  // namespace LAMMPS_NS
#endif
