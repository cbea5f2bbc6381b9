// SPDX-License-Identifier: BSD-3-Clause
// One tile's cycle on one core, for either policy; kernels.cpp defines it once per SIMD level.
#pragma once

#include "../../runtime/simd.h"
#include "../equal_disks.h"
#include "../fields.h"
#include "../particles.h"

namespace manymove::hard_particles {

// The cells in local storage before a cycle, and this rank's own ones after it.
struct CycleArrays {
  const Sphere* old_spheres;  // [cells][slots]
  const std::uint32_t* old_counts;
  Sphere* new_spheres;
  std::uint32_t* new_counts;
  const FieldView* fields;  // null: no fields and no steps
};

namespace equal_disks {

// Local storage of a tile; the lists hold the active cells of each set that are not empty.
struct Workspace {
  Position* tile;        // [kSlots][plane]
  std::uint8_t* order;   // [kSlots][plane], Landing::order
  std::uint32_t* count;  // [plane]
  std::uint32_t* list;   // [4][plane]: cells of one disk from the front, of several from the back
};

using RunTile = void (*)(const Geometry& g, const Draw& d, int tile, const TileBounds& bounds,
                         const CycleArrays& b, const Workspace& w, MoveCounts& counts);

}  // namespace equal_disks

// A tile in local storage: its particles cell by cell (x fastest), in each cell by their indices.
// Arrays by particle are a vector longer than needed.
struct Workspace {
  std::uint32_t* first;   // [plane + 1], the first particle of each cell
  std::uint32_t* next;    // [plane], used while particles land
  std::uint32_t* active;  // [8][plane], the active cells of each set that are not empty: local
                          // coordinates, ten bits each
  float* at[3];           // coordinates
  Label* label;
  std::uint32_t* id;
  // The neighbors of a visit, two vectors longer: from the start of the visit's particle, and
  // squared distance less squared contact distance.
  float *near[3], *gap;
  std::uint32_t* near_id;
  std::int32_t* near_type;  // with steps
};
inline constexpr int kMostLanes = 16;

struct ParticleKernels {
  // How many particles a tile holds with its far border, for which a workspace needs room.
  std::size_t (*count)(const Geometry& g, const Draw& d, const TileBounds& bounds,
                       const CycleArrays& b, std::uint32_t* first);
  // After count(), whose `first` the workspace has; the second one with external fields, and the
  // third one with steps, which a contact law may not have.
  using RunTile = void (*)(const Geometry& g, const Law& law, const Draw& d, int tile,
                           const TileBounds& bounds, const CycleArrays& b, const Workspace& w,
                           MoveCounts& counts);
  RunTile run_tile, run_tile_in_fields, run_tile_with_steps;
};
struct Kernels {
  equal_disks::RunTile disks;
  ParticleKernels particles[2][3];  // for D = 2 and 3 and the contact laws in their order
};
MANYMOVE_KERNELS(Kernels)

}  // namespace manymove::hard_particles
