// SPDX-License-Identifier: GPL-2.0-or-later
#include "translation/blocks.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "domain.h"
#include "lammps.h"
#include "region.h"

using namespace LAMMPS_NS;

double LAMMPS_NS::extent(const Region* region, int axis, bool high) {
  const double extents[3][2] = {{region->extent_xlo, region->extent_xhi},
                                {region->extent_ylo, region->extent_yhi},
                                {region->extent_zlo, region->extent_zhi}};
  return extents[axis][high];
}

bool LAMMPS_NS::is_fixed_block(LAMMPS* lmp, Region* region) {
  const auto regions = lmp->domain->get_region_list();
  if (std::ranges::find(regions, region) == regions.end()) return false;
  if (std::string(region->style) != "block" || !region->bboxflag || !region->interior ||
      region->varshape || region->dynamic || region->dynamic_check())
    return false;
  for (int corner = 0; corner < 8; ++corner) {
    double at[3];
    for (int a = 0; a < 3; ++a) at[a] = extent(region, a, corner >> a & 1);
    if (!region->match(at[0], at[1], at[2])) return false;
    for (int a = 0; a < 3; ++a) {
      const double inside = at[a];
      at[a] = std::nextafter(inside, corner >> a & 1 ? HUGE_VAL : -HUGE_VAL);
      if (region->match(at[0], at[1], at[2])) return false;
      at[a] = inside;
    }
  }
  return true;
}
