// SPDX-License-Identifier: GPL-2.0-only
// How LAMMPS sends atoms to the processes whose sub-domains they are in, however far, which its
// installed headers leave out; a source tree's own header is taken where there is one.
#pragma once

#if __has_include("irregular.h") && !defined(MANYMOVE_RESTATED)
#include "irregular.h"
#else

#include "pointers.h"

namespace LAMMPS_NS {

class Irregular : protected Pointers {
 public:
  Irregular(class LAMMPS* lmp);
  ~Irregular() override;
  void migrate_atoms(int sortflag = 0, int preassign = 0, int* procassign = nullptr);

 private:
  char members_[4096];  // in the release of 22 Jul 2025 they take less than a tenth of this
};

}  // namespace LAMMPS_NS
#endif
