// SPDX-License-Identifier: BSD-3-Clause
// A tile in a GPU's local storage, and the neighbors of a particle that the threads of a cell have
// listed.
#pragma once

#include "../../runtime/warp.cuh"
#include "../particles.h"
#include "../steps.h"

namespace manymove::hard_particles {
namespace {

// A tile in local storage.
template <int D, Contact C>
struct Tile {
  const Geometry& g;
  const Law& law;
  float step;
  const TileBounds& bounds;
  float4* spheres;
  const std::uint32_t* ids;
  const std::uint32_t* first;
  std::uint32_t where;         // of the tile's first cell, for the random numbers
  int row_cells, layer_cells;  // from a cell to the next one along y and z

  __device__ std::uint32_t id(std::uint32_t k) const {
    return C == Contact::one_size ? __float_as_uint(spheres[k].w) : ids[k];
  }
  // One of the 3^(D-1) runs of particles in three cells around a cell, which follow each other
  // along x.
  struct Run {
    std::uint32_t begin, end;
  };
  __device__ Run run(int cell, int row) const {
    const int z = row / 3, y = row - 3 * z;
    const std::uint32_t* const f =
        first + cell - 1 + (y - 1) * row_cells + (D == 3 ? (z - 1) * layer_cells : 0);
    return {f[0], f[3]};
  }
};

__device__ Label label_of(const float4& p) {
  Label label;
  label.radius = p.w;
  return label;
}

// The float32 contact distance of a pair in local storage. Sums: the label of a particle of a table
// is its radius, because all contact distances are sums.
template <Contact C, bool Sums>
__device__ float local_sigma(const Law& law, const float4& p, const float4& q) {
  if constexpr (Sums) return p.w + q.w;
  return sigma_of<C>(law, label_of(p), label_of(q));
}

// Keeps the compiler from loading a constant again and again.
__device__ float in_register(float x) {
  asm volatile("" : "+f"(x));
  return x;
}

// The neighbors that the threads of a cell have listed, as one list.
template <int Lanes>
struct Lists {
  const std::uint16_t* first;
  int total, above[Lanes], from[Lanes];  // the number in lists before one; where it would begin

  __device__ Lists(const std::uint16_t* first, int room, int mine) : first(first), total(0) {
#pragma unroll
    for (int l = 0; l < Lanes; ++l) {
      above[l] = total;
      // List l begins at l room, so that entry k of all is at k + l room - above[l].
      from[l] = l * room - total;
      total += Lanes == 1 ? mine : value_of_lane(mine, l, Lanes);
    }
  }
  __device__ std::uint32_t operator[](int k) const {
    int at = 0;
#pragma unroll
    for (int l = 1; l < Lanes; ++l)
      if (k >= above[l]) at = from[l];
    return first[at + k];
  }
};

// This thread's share of the neighbors, seen from where the particle was when they were listed.
template <int D, Contact C, bool Sums, int K, int Lanes>
struct Nearest {
  static constexpr float kNone = 1e30f;  // a square beyond all

  const Tile<D, C>& tile;
  const Law& law;
  const float4& p;
  const Lists<Lanes>& near;
  float x[K], y[K], z[K], gap[K];

  __device__ __forceinline__ void take(std::uint32_t j, float& x, float& y, float& z,
                                       float& gap) const {
    const float4 q = tile.spheres[j];
    x = q.x - p.x;
    y = q.y - p.y;
    z = q.z - p.z;
    const float sigma = local_sigma<C, Sums>(law, p, q);
    // |r_j - r_i|^2 - sigma_ij^2, negative where they overlap.
    gap = fmaf(x, x, fmaf(y, y, D == 3 ? z * z : 0.0f)) - sigma * sigma;
  }

  // Takes K of them into registers. The lanes of a group have its neighbors in turn; an empty
  // place has the particle itself.
  __device__ __forceinline__ void take_all(std::uint32_t self) {
    const int lane = threadIdx.x % Lanes;
    std::uint32_t name[K];
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const int at = lane + k * Lanes;
      const std::uint32_t its = near[max(min(at, near.total - 1), 0)];
      name[k] = at < near.total ? its : self;
    }
#pragma unroll
    for (int k = 0; k < K; ++k) {
      take(name[k], x[k], y[k], z[k], gap[k]);
      if (lane + k * Lanes >= near.total) gap[k] = kNone;
    }
  }

  // gap - 2 d . u, in which |u|^2 is missing.
  static __device__ __forceinline__ float term(const float (&u)[3], float x, float y, float z,
                                               float gap) {
    const float t = fmaf(x, -2 * u[0], fmaf(y, -2 * u[1], gap));
    return D == 3 ? fmaf(z, -2 * u[2], t) : t;
  }
  // Calls look(term) for those of this thread that have no place in registers.
  __device__ __forceinline__ void for_others(const float (&to)[3], auto&& look) const {
#pragma unroll 1
    for (int k = K * Lanes + static_cast<int>(threadIdx.x % Lanes); k < near.total; k += Lanes) {
      float x, y, z, gap;
      take(near[k], x, y, z, gap);
      look(term(to, x, y, z, gap));
    }
  }

  // The least |d_j - u|^2 - sigma_j^2 = gap_j - 2 d_j . u + |u|^2 of a trial move to u.
  __device__ __forceinline__ float least(const float (&to)[3]) const {
    // Two chains of minima, so that none waits for the one before it.
    float even = kNone, odd = kNone;
#pragma unroll
    for (int k = 0; k < K; ++k) {
      float& least = k % 2 ? odd : even;
      const float t = term(to, x[k], y[k], z[k], gap[k]);
      least = k < 2 ? t : fminf(least, t);
    }
    for_others(to, [&](float t) { even = fminf(even, t); });
    // min_j (|d_j - u|^2 - sigma_j^2) = min_j (gap_j - 2 d_j . u) + |u|^2 (section 1.3).
    return fminf(even, odd) + squared_length<D>(to);
  }

  // The same with steps, if there is a single type: adds up the energies of the neighbors, which
  // are right unless `unsure` becomes true.
  __device__ __forceinline__ float least(const float (&to)[3], const StepView& steps,
                                         std::int64_t& energy, bool& unsure) const {
    const float sigma = law.sigmas[0], square = squared_length<D>(to);
    float least = kNone;
#pragma unroll 1
    for (int s = 0; s < steps.number; ++s) {
      // Within the range if gap_j - 2 d_j . u + |u|^2 + sigma^2 is below its square.
      const float bound = steps.bounds[s] - sigma * sigma - square;
      float closest = kNone;
      int within = 0;
      const auto look = [&](float t) {
        within += t < bound;
        least = fminf(least, t);
        closest = fminf(closest, fabsf(t - bound));
      };
#pragma unroll
      for (int k = 0; k < K; ++k) look(term(to, x[k], y[k], z[k], gap[k]));
      for_others(to, look);
      energy += within * steps.energies[s];
      unsure |= closest <= steps.margin;
    }
    return least + square;
  }
};

}  // namespace
}  // namespace manymove::hard_particles
