// SPDX-License-Identifier: BSD-3-Clause
#include "instances.cuh"

template manymove::hard_particles::KernelsOfLaw
manymove::hard_particles::kernels_of<manymove::hard_particles::Contact::table, true>(int);
