// SPDX-License-Identifier: BSD-3-Clause
#include "instances.cuh"

namespace manymove::hard_particles {

template <>
KernelsOfLaw kernels_of<Contact::additive>(int dimensions) {
  return kernels_here<Contact::additive>(dimensions);
}

}  // namespace manymove::hard_particles
