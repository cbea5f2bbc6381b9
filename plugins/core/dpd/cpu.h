// SPDX-License-Identifier: BSD-3-Clause
// What cpu.cpp defines once per SIMD level.
#pragma once

#include "model.h"
#include "pairs.h"

namespace manymove::dpd {

namespace baseline {
void add_pair_forces(const PairTable& table, const Particles& particles, const NeighbourList& list,
                     const NoiseKey& key, int reacting, double (*force)[3], const PairTally* tally);
}
namespace avx2 {
void add_pair_forces(const PairTable& table, const Particles& particles, const NeighbourList& list,
                     const NoiseKey& key, int reacting, double (*force)[3], const PairTally* tally);
}
namespace avx512 {
void add_pair_forces(const PairTable& table, const Particles& particles, const NeighbourList& list,
                     const NoiseKey& key, int reacting, double (*force)[3], const PairTally* tally);
}

}  // namespace manymove::dpd
