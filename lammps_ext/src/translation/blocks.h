// SPDX-License-Identifier: GPL-2.0-or-later
// Regions of LAMMPS that are blocks.
#pragma once

namespace LAMMPS_NS {

class LAMMPS;
class Region;

// A face of the bounding box of a region.
double extent(const Region* region, int axis, bool high);
// Whether the region is what its bounding box says, faces included, and does not change.
bool is_fixed_block(LAMMPS* lmp, Region* region);

}  // namespace LAMMPS_NS
