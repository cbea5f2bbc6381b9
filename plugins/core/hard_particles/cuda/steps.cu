// SPDX-License-Identifier: BSD-3-Clause
#include "instances.cuh"

manymove::hard_particles::CycleKernels manymove::hard_particles::cycles_with_steps(int dimensions) {
  return dimensions == 2 ? cycles_in<2, Contact::table, false, TileSteps<2>>()
                         : cycles_in<3, Contact::table, false, TileSteps<3>>();
}
