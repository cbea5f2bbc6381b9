// SPDX-License-Identifier: BSD-3-Clause
// Visits of the cells of a set on a GPU: a thread, or several together, for each cell.
#pragma once

#include "../model.h"

namespace manymove::hard_particles::spheres {
namespace {

// A tile in local storage.
template <int D, Contact C>
struct Tile {
  const Geometry& g;
  const Law& law;
  const TileBounds& bounds;
  float4* spheres;
  const std::uint32_t* ids;
  const std::uint32_t* first;
  std::uint32_t where;  // of the tile's first cell, for the random numbers

  __device__ std::uint32_t id(std::uint32_t k) const {
    return C == Contact::one_size ? __float_as_uint(spheres[k].w) : ids[k];
  }
  // The runs of particles around a cell, in each of which cells follow each other along x.
  template <class Run>
  __device__ void for_runs(const int cell[3], Run&& run) const {
    const int rows = bounds.size[0] + 1, layers = rows * (bounds.size[1] + 1);
    const int corner = local_index<D>(bounds, cell) - 1 - rows - (D == 3 ? layers : 0);
#pragma unroll 1
    for (int z = 0; z < (D == 3 ? 3 : 1); ++z)
#pragma unroll
      for (int y = 0; y < 3; ++y) {
        const std::uint32_t* const f = first + corner + z * layers + y * rows;
        run(f[0], f[3]);
      }
  }
};

__device__ Label label_of(const float4& p) {
  Label label;
  label.radius = p.w;
  return label;
}

}  // namespace
}  // namespace manymove::hard_particles::spheres
