// SPDX-License-Identifier: BSD-3-Clause
#include "instances.cuh"

namespace manymove::hard_particles {

template <>
KernelsOfLaw kernels_of<Contact::table>(int dimensions) {
  return kernels_here<Contact::table>(dimensions);
}

}  // namespace manymove::hard_particles
