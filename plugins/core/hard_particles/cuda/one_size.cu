// SPDX-License-Identifier: BSD-3-Clause
#include "instances.cuh"

namespace manymove::hard_particles {

template <>
KernelsOfLaw kernels_of<Contact::one_size>(int dimensions) {
  return kernels_here<Contact::one_size>(dimensions);
}

}  // namespace manymove::hard_particles
