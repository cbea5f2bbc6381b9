// SPDX-License-Identifier: BSD-3-Clause
#include "instances.cuh"

template manymove::hard_particles::CycleKernels
manymove::hard_particles::cycles_in_fields<manymove::hard_particles::Contact::additive, false>(int);
