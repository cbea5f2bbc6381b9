// SPDX-License-Identifier: BSD-3-Clause
// What kernels.cpp defines once per SIMD level.
#pragma once

#include "../../runtime/simd.h"
#include "../model.h"
#include "../pair_forces.h"

namespace manymove::dpd {

// What a pair adds to the force on i and takes from that on j.
struct PairContribution {
  int i, j;
  double force[3];
};

// RowRange first to last of a neighbor list. The contributions of their pairs are added to force[],
// for j only if j < reacting; or stored in the order of the list if contributions is not null.
struct RowRange {
  int first, last;
  int reacting;
  double (*force)[3];
  PairContribution* contributions;  // with room for all neighbors of the rows
  // Results; a pair with j >= reacting has half its energy here. energy is null if it is not
  // needed.
  int* count;
  double* energy;
};

struct Kernels {
  void (*add_rows)(const PairTable& table, const Particles& particles, const NeighborList& list,
                   const NoiseKey& key, const RowRange& rows, const PairCallback* callback);
  // Densities of particle[first] to particle[last - 1] of the list, which is a full one.
  void (*find_densities)(const PairTable& table, const Particles& particles,
                         const NeighborList& list, int first, int last, double* density);
  void (*draw_noise)(const NoiseKey& key, int count, const std::uint32_t* tag_i,
                     const std::uint32_t* tag_j, float* noise);
};
MANYMOVE_KERNELS(Kernels)

}  // namespace manymove::dpd
