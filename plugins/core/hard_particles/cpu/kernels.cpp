// SPDX-License-Identifier: BSD-3-Clause
// The kernels of both policies, compiled once per SIMD level.
#include "../../runtime/vec.h"  // first: the templates of the policies must see its operators
//
#include "tile_of_disks.h"
#include "tile_of_particles.h"

namespace manymove::hard_particles::MANYMOVE_SIMD {

void use(Kernels& kernels) {
  kernels.disks = &equal_disks::MANYMOVE_SIMD::run_tile;
  use_dimension<2>(kernels.particles[0]);
  use_dimension<3>(kernels.particles[1]);
}

}  // namespace manymove::hard_particles::MANYMOVE_SIMD
