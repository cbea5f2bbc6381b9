// SPDX-License-Identifier: BSD-3-Clause
// One tile's cycle on one core; kernels.cpp defines it once per SIMD level.
#pragma once

#include "../../runtime/simd.h"
#include "../equal_disks.h"

namespace manymove::hard_particles {

// Local storage of a tile; the lists hold the active cells of each set that are not empty.
struct Workspace {
  Position* tile;        // [kSlots][plane]
  std::uint8_t* order;   // [kSlots][plane], Landing::order
  std::uint32_t* count;  // [plane]
  std::uint32_t* list;   // [4][plane]: cells of one disk from the front, of several from the back
};

struct CycleBuffers {
  const Position* old_cells;
  const std::int32_t* old_ids;
  Position* new_cells;
  std::int32_t* new_ids;
};

struct TileTally {
  std::uint64_t trial_moves, accepted_moves;
  bool corrupt;
};

struct Kernels {
  void (*run_tile)(const Geometry& g, const Draw& d, int tile, const TileBounds& bounds,
                   const CycleBuffers& b, const Workspace& w, TileTally& tally);
};
MANYMOVE_KERNELS(Kernels)

}  // namespace manymove::hard_particles
