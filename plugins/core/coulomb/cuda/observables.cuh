// SPDX-License-Identifier: BSD-3-Clause
// Device code besides the chain: energies, pair correlations, the particles of host programs.
#pragma once

#include "trials.cuh"

namespace manymove::coulomb {
namespace {

// ---- the particles of host programs ----

template <class Real>
__global__ void trace_kernel(HostParticles host, int n, unsigned long long* sum) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned long long trace = warp_sum(i < n ? trace_of<Real>(host, i) : 0);
  if (threadIdx.x % 32 == 0) atomicAdd(sum, trace);
}

template <class Real>
__global__ void write_kernel(Rules r, double3 axis_unit, HostParticles host, int n,
                             const std::int32_t* image, const Site* site, Site* left) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const double unit[3] = {axis_unit.x, axis_unit.y, axis_unit.z};
  if (i < n) write_ion<Real>(r, unit, host, i, image, site[i], left[i]);
}

// One thread per ion: positions [n][3].
__global__ void positions_kernel(double3 axis_unit, const Site* site, int n, double* xyz) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  xyz[3 * i] = site[i].x * axis_unit.x;
  xyz[3 * i + 1] = site[i].y * axis_unit.y;
  xyz[3 * i + 2] = site[i].z * axis_unit.z;
}

// ---- measurements ----

// Twice the energy in quanta; always in float64.
template <Space B>
__global__ void energy_kernel(const __grid_constant__ Rules r, const Site* site, int n,
                              MoveCounts* counts) {
  __shared__ Partner<true> tile[kThreads];
  const int i = blockIdx.x * kThreads + threadIdx.x;
  const Site at = i < n ? site[i] : hole();
  std::int64_t sum = 0;
  for (int begin = 0; begin < n; begin += kThreads) {
    const int mine = begin + threadIdx.x;
    // The last tile has been read by all threads before the next one replaces it.
    __syncthreads();
    tile[threadIdx.x] = as_partner<true>(mine < n ? site[mine] : hole());
    __syncthreads();
    for (int k = 0; k < kThreads; ++k) {
      const Partner<true> g = tile[k];
      const auto d = separation<B, double>(r, at.x - g.x, at.y - g.y, at.z - g.z);
      // 2 U / l_B = sum_i z_i sum_(j != i) z_j psi(r_ij), of which this is z_j psi(r_ij).
      const std::int64_t term = potential_term<B>(r, g.charge, d);
      if (begin + k != i) sum += term;
    }
  }
  if (i >= n) return;
  MoveCounts own{};
  own.add_accepted(nearest_integer(at.charge * static_cast<double>(sum)));
  add_energy(counts, own);
}

// The ions that count, in any order, their species in place of their charge.
__global__ void interior_kernel(Rules r, Bins b, const Site* site, const std::int32_t* species,
                                int n, Site* inside, unsigned* count,
                                unsigned long long* interior_ions) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n || !interior(r, b, site[i])) return;
  const Site at = site[i];
  inside[atomicAdd(count, 1u)] = {at.x, at.y, at.z, static_cast<float>(species[i])};
  atomicAdd(&interior_ions[species[i]], 1ull);
}

// Where the ions of a tile are.
struct TileBox {
  double center[3], half[3];
};
// Keys by which ions that are near each other come to lie side by side: the bits of ten binary
// digits of each coordinate in turn.
__global__ void near_keys_kernel(Rules r, const Site* site, const unsigned* count, int n,
                                 unsigned* key) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  key[i] = 0xffffffffu;
  if (i >= static_cast<int>(*count)) return;
  const double place[3] = {site[i].x, site[i].y, site[i].z};
  unsigned bits = 0;
  for (int axis = 0; axis < 3; ++axis) {
    // A Morton key: neighbors on the curve are neighbors in space.
    const double share = place[axis] / r.extent[axis] + 0.5;
    const int digits = min(max(static_cast<int>(share * 1024), 0), 1023);
    for (int bit = 0; bit < 10; ++bit) bits |= (digits >> bit & 1u) << (3 * bit + axis);
  }
  key[i] = bits;
}
__global__ void tile_boxes_kernel(const Site* site, const unsigned* count, TileBox* box) {
  const unsigned tile = blockIdx.x * blockDim.x + threadIdx.x, begin = tile * kThreads;
  if (begin >= *count) return;
  double low[3], high[3];
  for (unsigned k = begin; k < min(begin + kThreads, *count); ++k) {
    const double place[3] = {site[k].x, site[k].y, site[k].z};
    for (int axis = 0; axis < 3; ++axis) {
      low[axis] = k == begin ? place[axis] : fmin(low[axis], place[axis]);
      high[axis] = k == begin ? place[axis] : fmax(high[axis], place[axis]);
    }
  }
  for (int axis = 0; axis < 3; ++axis) {
    box[tile].center[axis] = 0.5 * (low[axis] + high[axis]);
    box[tile].half[axis] = 0.5 * (high[axis] - low[axis]);
  }
}
// Not more than the squared distance of any two ions of two tiles. Exact, since coordinates are
// integers.
template <Space B>
__device__ double apart(const Rules& r, const TileBox& a, const TileBox& b) {
  double sum = 0;
  for (int axis = 0; axis < 3; ++axis) {
    double d = fabs(a.center[axis] - b.center[axis]);
    if constexpr (B != Space::cell) d = fmin(d, r.extent[axis] - d);
    // Between the nearest faces along the axis; 0 where the boxes overlap.
    const double gap = fmax(0.0, d - a.half[axis] - b.half[axis]);
    sum += gap * gap;
  }
  return sum;
}

// Each pair once: block (i, y) has tile i against tiles i + y, i + y + gridDim.y, ... around the
// ring, half of it, of which those that are too far away are left out. Counts in shared memory if
// they fit (`in_shared` of them).
template <Space B>
__global__ void pairs_kernel(const __grid_constant__ Rules r, Bins b, const Site* site,
                             const TileBox* box, const unsigned* count, int in_shared,
                             unsigned long long* counts) {
  extern __shared__ unsigned local[];
  __shared__ Site tile[kThreads];
  __shared__ unsigned nearby[kThreads], found;
  const unsigned n = *count, tiles = (n + kThreads - 1) / kThreads, own = blockIdx.x;
  if (own >= tiles) return;
  const float limit = static_cast<float>(b.farthest2 * (1 + 1e-6));
  for (int k = threadIdx.x; k < in_shared; k += kThreads) local[k] = 0;
  const unsigned i = own * kThreads + threadIdx.x;
  const Site at = i < n ? site[i] : hole();
  for (unsigned first = blockIdx.y; first <= tiles / 2; first += gridDim.y * kThreads) {
    // The tiles that were found before have been taken.
    __syncthreads();
    if (threadIdx.x == 0) found = 0;
    __syncthreads();
    const unsigned mine = first + gridDim.y * threadIdx.x;
    // One of two tiles half the ring apart has the pairs.
    if (mine <= tiles / 2 && !(2 * mine == tiles && own >= mine) &&
        apart<B>(r, box[own], box[(own + mine) % tiles]) < b.farthest2)
      nearby[atomicAdd(&found, 1u)] = mine;
    // The list of near tiles is complete.
    __syncthreads();
    for (unsigned m = 0; m < found; ++m) {
      const unsigned ahead = nearby[m];
      const unsigned begin = (own + ahead) % tiles * kThreads, j = begin + threadIdx.x;
      // The tile before has been read.
      __syncthreads();
      tile[threadIdx.x] = j < n ? site[j] : hole();
      __syncthreads();
      if (i >= n) continue;
      const unsigned end = min(kThreads, n - begin);
      for (unsigned k = ahead == 0 ? threadIdx.x + 1 : 0; k < end; ++k) {
        const Site g = tile[k];
        if (!(separation<B, float>(r, at.x - g.x, at.y - g.y, at.z - g.z).squared < limit))
          continue;
        // floor(r_ij / width), from the exact square: the same counts on every machine.
        const int bin = bin_of(b, squared_distance(r, at, g));
        if (bin < 0) continue;
        const int kinds =
            species_pair(static_cast<int>(at.charge), static_cast<int>(g.charge), b.species);
        if (in_shared)
          atomicAdd(&local[kinds * b.bins + bin], 1u);
        else
          atomicAdd(&counts[kinds * b.bins + bin], 1ull);
      }
    }
  }
  // The block's histogram is complete.
  __syncthreads();
  for (int k = threadIdx.x; k < in_shared; k += kThreads)
    if (local[k]) atomicAdd(&counts[k], static_cast<unsigned long long>(local[k]));
}

}  // namespace
}  // namespace manymove::coulomb
