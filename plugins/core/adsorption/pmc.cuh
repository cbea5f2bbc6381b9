// SPDX-License-Identifier: BSD-3-Clause
// The kernels in which a thread works alone: pmc, with a system each, and the grid, with a point.
#pragma once

#include "kernels.cuh"

namespace manymove::adsorption {

inline constexpr int kPmcThreads = 64;

// Coordinates and sites of pmc, [slots][3][systems]: a warp reads 32 systems' side by side.
template <class F>
struct Planes {
  F* coordinates;
  std::uint32_t* sites;
};

template <class F>
struct ThreadSystem {
  const Work<F>& w;
  Planes<F> planes;
  int id;

  __device__ std::size_t at(int slot, int axis) const {
    return (static_cast<std::size_t>(slot) * 3 + axis) * w.systems + id;
  }
  __device__ Site site(int slot) const {
    return {planes.sites[at(slot, 0)], planes.sites[at(slot, 1)], planes.sites[at(slot, 2)]};
  }
  __device__ Point<F> point(int slot) const {
    return {planes.coordinates[at(slot, 0)], planes.coordinates[at(slot, 1)],
            planes.coordinates[at(slot, 2)]};
  }
  __device__ void put(int slot, const Site& s) const {
    const Point<F> p = to_point(w.m, s);
    planes.sites[at(slot, 0)] = s.x;
    planes.sites[at(slot, 1)] = s.y;
    planes.sites[at(slot, 2)] = s.z;
    planes.coordinates[at(slot, 0)] = p.x;
    planes.coordinates[at(slot, 1)] = p.y;
    planes.coordinates[at(slot, 2)] = p.z;
  }
};

// total_energy() of a warp, by one thread.
template <class F>
__device__ __noinline__ double total_energy(const ThreadSystem<F>& s) {
  const Model<F>& m = s.w.m;
  double part[kWidth] = {};
  for (int a = 0; a < m.species; ++a)
    for (int slot = m.first_slot[a]; slot < m.first_slot[a + 1]; ++slot) {
      const Point<F> p = s.point(slot);
      double sum = part[(slot - m.first_slot[a]) % kWidth];
      sum += static_cast<double>(framework_energy(m, a, s.site(slot)));
      for (int b = a; b < m.species; ++b) {
        const PairLaw<F> law = m.law[a][b];
        for (int j = a == b ? slot + 1 : m.first_slot[b]; j < m.first_slot[b + 1]; ++j) {
          const Point<F> q = s.point(j);
          sum += static_cast<double>(pair_energy(m, law, p, q.x, q.y, q.z));
        }
      }
      part[(slot - m.first_slot[a]) % kWidth] = sum;
    }
  for (int off = kWidth / 2; off > 0; off /= 2)  // lane 0's value needs no more than these
    for (int l = 0; l < off; ++l) part[l] += part[l + off];
  return part[0];
}

template <class F>
__global__ void __launch_bounds__(kPmcThreads)
    pmc_kernel(const __grid_constant__ Work<F> w, Planes<F> planes, DeviceTally* tally) {
  const int thread = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const bool idle = thread >= w.systems;  // but takes part in the shuffles
  const Model<F>& m = w.m;
  const ThreadSystem<F> s{w, planes, idle ? 0 : thread};
  const int lane = static_cast<int>(threadIdx.x) % 32, n = w.slots;
  const std::size_t first = static_cast<std::size_t>(s.id) * n;
  if (!idle)
    for (int slot = 0; slot < n; ++slot) s.put(slot, w.sites[first + slot]);
  double energy = w.energies[s.id];
  Averages a = load_averages(w, s.id);
  unsigned accepted = 0;
  std::uint32_t mine = 0;
  for (std::uint64_t t = w.first_step; t < w.first_step + w.steps; ++t) {
    const auto turn = static_cast<int>((t - w.first_step) % 32);
    if (turn == 0) mine = common_draw(m.key, t + static_cast<std::uint64_t>(lane)).molecule;
    const auto k = static_cast<int>(
        uniform_below(__shfl_sync(kAll, mine, turn), static_cast<std::uint32_t>(n)));
    if (idle) continue;
    int species = 0;
    while (k >= m.first_slot[species + 1]) ++species;
    std::uint32_t word[4];
    random_words(word, m.key, t, static_cast<std::uint32_t>(s.id), 0u, Purpose::propose);
    const Site old = s.site(k), fresh = moved(old, step_of(m, word));
    const Point<F> from = to_point(m, old), to = to_point(m, fresh);
    const F field = framework_energy(m, species, fresh) - framework_energy(m, species, old);
    F pairs = 0;
    for (int b = 0; b < m.species; ++b) {
      const PairLaw<F> law = m.law[species][b];
      const auto add = [&](int begin, int end) {
#pragma unroll 4
        for (int j = begin; j < end; ++j) {
          const Point<F> q = s.point(j);
          pairs +=
              pair_energy(m, law, to, q.x, q.y, q.z) - pair_energy(m, law, from, q.x, q.y, q.z);
        }
      };
      const int begin = m.first_slot[b], end = m.first_slot[b + 1];
      add(begin, min(max(k, begin), end));
      add(min(max(k + 1, begin), end), end);
    }
    const F difference = lowest_of(pairs + field, F(kForbidden));
    const bool accept = metropolis(m.beta, difference, word[3]);
    if (accept) {
      s.put(k, fresh);
      energy += static_cast<double>(difference);
      ++accepted;
    }
    if (w.measure) {
      measure_state(a, energy);
      if (m.bins)
        atomicAdd(reinterpret_cast<unsigned long long*>(w.profile) +
                      static_cast<std::size_t>(s.id % w.groups) * m.bins +
                      profile_bin(m, accept ? fresh : old),
                  quantum(1.0));
    }
    if ((t + 1) % kRefresh == 0) renew_energy(a, total_energy(s), energy);
  }
  if (idle) return;
  for (int slot = 0; slot < n; ++slot) w.sites[first + slot] = s.site(slot);
  w.energies[s.id] = energy;
  store_averages(w, s.id, a);
  atomicAdd(&tally->accepted, static_cast<unsigned long long>(accepted));
}

// ---- the grid: a thread per point ----

static __global__ void grid_kernel(const __grid_constant__ GridWork g, double* energies) {
  const auto point = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t plane = static_cast<std::int64_t>(g.points[0]) * g.points[1];
  if (point >= plane * g.points[2]) return;
  const double x = mul_rn(static_cast<double>(point % g.points[0]), g.spacing[0]);
  const double y = mul_rn(static_cast<double>(point % plane / g.points[0]), g.spacing[1]);
  const double z = mul_rn(static_cast<double>(point / plane), g.spacing[2]);
  double sum = 0;
  for (std::size_t i = 0; i < g.count; ++i) {
    const Image image = g.images[i];
    const PairLaw<double>& law = g.law[image.kind];
    if (law.repulsion == 0) continue;
    sum += image_energy(law, image.x, image.y, image.z, x, y, z);
  }
  energies[point] = sum;
}

}  // namespace manymove::adsorption
