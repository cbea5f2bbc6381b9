// SPDX-License-Identifier: BSD-3-Clause
// A warp per system shares its work over 32 lanes as kernels.cpp's loops over kWidth do. Sums have
// the same order there and here.
#pragma once

#include <cuda_runtime.h>

#include "../point_trials.h"
#include "../state.h"

namespace manymove::adsorption {

inline constexpr int kThreads = 128;  // of a block of warps
inline constexpr unsigned kAll = 0xffffffffu;

struct DeviceMoveCounts {
  unsigned long long accepted, exchanges, accepted_exchanges;
  unsigned full, stuck;
};

// A point in shared memory, padded so that one access reads it whole.
template <class F>
struct alignas(4 * sizeof(F)) SharedPoint {
  F x, y, z, unused;
};

template <class F>
__host__ __device__ std::size_t warp_bytes(int slots, int bins) {
  const std::size_t bytes = slots * (2 * sizeof(SharedPoint<F>) + sizeof(Site)) +
                            bins * sizeof(unsigned long long) + kMostSpecies * sizeof(int);
  return (bytes + 31) / 32 * 32;
}

template <class T>
__device__ T butterfly(T value) {
  MM_UNROLL
  for (int off = 16; off > 0; off /= 2) value += __shfl_xor_sync(kAll, value, off);
  return value;
}

template <class F>
__device__ F pair_with(const Model<F>& m, const PairLaw<F>& law, const Point<F>& p,
                       const SharedPoint<F>& q) {
  return pair_energy(m, law, p, q.x, q.y, q.z);
}

// One system in the shared memory of its warp.
template <class F>
struct WarpSystem {
  using Real = F;
  const PointArrays<F>& w;
  const Model<F>& m;
  int id, lane;
  SharedPoint<F>*points, *near;
  unsigned long long* profile;
  Site* sites;
  int* counts;
  double energy;

  __device__ WarpSystem(const PointArrays<F>& work, int system, int warp, char* shared)
      : w(work), m(work.m), id(system), lane(static_cast<int>(threadIdx.x) % 32) {
    char* const mine = shared + warp * warp_bytes<F>(w.slots, m.bins);
    points = reinterpret_cast<SharedPoint<F>*>(mine);
    near = points + w.slots;
    profile = reinterpret_cast<unsigned long long*>(near + w.slots);
    sites = reinterpret_cast<Site*>(profile + m.bins);
    counts = reinterpret_cast<int*>(sites + w.slots);
    const std::size_t first = static_cast<std::size_t>(id) * w.slots,
                      of_system = static_cast<std::size_t>(id) * m.species;
    for (int b = lane; b < m.bins; b += 32) profile[b] = 0;
    if (lane < m.species) counts[lane] = w.counts[of_system + lane];
    for (int slot = lane; slot < w.slots; slot += 32) put(slot, w.sites[first + slot]);
    energy = w.energies[id];
    __syncwarp();
  }
  // By one lane; the others see it after __syncwarp().
  __device__ void put(int slot, const Site& s) {
    const Point<F> p = to_point(m, s);
    sites[slot] = s;
    points[slot] = {p.x, p.y, p.z, F(0)};
  }
  __device__ void store() const {
    __syncwarp();
    const std::size_t first = static_cast<std::size_t>(id) * w.slots;
    for (int slot = lane; slot < w.slots; slot += 32) w.sites[first + slot] = sites[slot];
    if (lane < m.species) w.counts[static_cast<std::size_t>(id) * m.species + lane] = counts[lane];
    if (lane == 0) w.energies[id] = energy;
    if (w.measure)
      for (int b = lane; b < m.bins; b += 32)
        if (profile[b])
          atomicAdd(reinterpret_cast<unsigned long long*>(w.profile) +
                        static_cast<std::size_t>(id % w.groups) * m.bins + b,
                    profile[b]);
  }
  __device__ int molecules() const {
    int n = 0;
    for (int b = 0; b < m.species; ++b) n += counts[b];
    return n;
  }
  __device__ int find(int k, int& species) const {
    species = 0;
    while (k >= counts[species]) k -= counts[species++];
    return m.first_slot[species] + k;
  }

  // ---- what trials.h asks for; sums are those of the lanes' shares ----

  __device__ F pair_change(int species, const Point<F>* to, const Point<F>* from, int slot) const {
    F part = 0;
    for (int b = 0; b < m.species; ++b) {
      const PairLaw<F> law = m.law[species][b];
      const int begin = m.first_slot[b], end = begin + counts[b];
      for (int j = begin + lane; j < end; j += 32) {
        if (j == slot) continue;
        const SharedPoint<F> q = points[j];
        if (to && from)
          part += pair_with(m, law, *to, q) - pair_with(m, law, *from, q);
        else
          part += pair_with(m, law, to ? *to : *from, q);
      }
    }
    return butterfly(part);
  }
  __device__ F field_change(int species, const Site& fresh, const Site& old) const {
    const F field = framework_energy(m, species, lane & 1 ? old : fresh);
    return __shfl_sync(kAll, field, 0) - __shfl_sync(kAll, field, 1);
  }
  __device__ void sync() const { __syncwarp(); }
  __device__ void move(int slot, const Site& site) {
    if (lane == 0) put(slot, site);
  }
  __device__ void insert(int species, const Site& site) {
    const int n = counts[species];
    change_count(species, m.first_slot[species] + n, site, n + 1);
  }
  __device__ void remove(int species, int slot) {
    const int n = counts[species] - 1;
    change_count(species, slot, sites[m.first_slot[species] + n], n);
  }
  __device__ void count_place(const Site& site) const {
    if (lane == 0) profile[profile_bin(m, site)] += quantum(1.0);
  }

 private:
  __device__ void change_count(int species, int slot, Site site, int count) {
    __syncwarp();
    if (lane == 0) {
      put(slot, site);
      counts[species] = count;
    }
    __syncwarp();
  }
};

template <class F>
__device__ double total_energy(const WarpSystem<F>& s) {
  double sum = 0;
  for (int a = 0; a < s.m.species; ++a)
    for (int i = s.lane; i < s.counts[a]; i += 32) {
      const int slot = s.m.first_slot[a] + i;
      const SharedPoint<F> own = s.points[slot];
      const Point<F> p{own.x, own.y, own.z};
      sum += static_cast<double>(framework_energy(s.m, a, s.sites[slot]));
      for (int b = a; b < s.m.species; ++b) {
        const PairLaw<F> law = s.m.law[a][b];
        const int begin = s.m.first_slot[b], end = begin + s.counts[b];
        for (int j = a == b ? slot + 1 : begin; j < end; ++j)
          sum += static_cast<double>(pair_with(s.m, law, p, s.points[j]));
      }
    }
  return butterfly(sum);
}

// ---- averages: kept in registers while a kernel runs ----

struct Averages {
  double plain, squared, waste, waste_squared, jump, drift;
};

template <class F>
__device__ double& sum_of(const PointArrays<F>& w, int system, int sum) {
  return w.sums[static_cast<std::size_t>(sum) * w.systems + system];
}

template <class F>
__device__ Averages load_averages(const PointArrays<F>& w, int system) {
  return {sum_of(w, system, kPlain), sum_of(w, system, kEnergySquared),
          sum_of(w, system, kWaste), sum_of(w, system, kWasteSquared),
          sum_of(w, system, kJump),  sum_of(w, system, kDrift)};
}

template <class F>
__device__ void store_averages(const PointArrays<F>& w, int system, const Averages& a) {
  sum_of(w, system, kPlain) = a.plain;
  sum_of(w, system, kEnergySquared) = a.squared;
  sum_of(w, system, kWaste) = a.waste;
  sum_of(w, system, kWasteSquared) = a.waste_squared;
  sum_of(w, system, kJump) = a.jump;
  sum_of(w, system, kDrift) = a.drift;
}

__device__ inline void measure_state(Averages& a, double energy) {
  a.plain += energy;
  a.squared = fused(energy, energy, a.squared);
}

// Adds the numbers of molecules of an open system to the averages; called by one lane.
template <class F>
__device__ void measure_counts(const PointArrays<F>& w, int system, double energy,
                               const int* counts) {
  double n = 0;
  for (int b = 0; b < w.m.species; ++b) {
    n += counts[b];
    sum_of(w, system, kOfSpecies + b) += counts[b];
  }
  sum_of(w, system, kNumber) += n;
  sum_of(w, system, kNumberSquared) += mul_rn(n, n);
  double& cross = sum_of(w, system, kEnergyNumber);
  cross = fused(energy, n, cross);
  if (w.m.species > 1) add_mixture(w.sums + system, w.systems, w.m.species, energy, counts);
}

__device__ inline void renew_energy(Averages& a, double fresh, double& energy) {
  a.drift = highest_of(a.drift, magnitude(fresh - energy));
  energy = fresh;
}

// ---- plj: a warp per system, one proposal per step ----

struct LaneMoveCounts {
  unsigned accepted = 0, exchanges = 0, accepted_exchanges = 0, full = 0;
};

__device__ inline void add_counts(DeviceMoveCounts* moves, const LaneMoveCounts& t) {
  atomicAdd(&moves->accepted, static_cast<unsigned long long>(t.accepted));
  if (t.exchanges) atomicAdd(&moves->exchanges, static_cast<unsigned long long>(t.exchanges));
  if (t.accepted_exchanges)
    atomicAdd(&moves->accepted_exchanges, static_cast<unsigned long long>(t.accepted_exchanges));
  if (t.full) atomicOr(&moves->full, t.full);
}

// The system of this warp, or none.
template <class F>
__device__ int warp_system(const PointArrays<F>& w) {
  return static_cast<int>((blockIdx.x * blockDim.x + threadIdx.x) / 32);
}

template <class F>
__global__ void __launch_bounds__(kThreads)
    plj_kernel(const __grid_constant__ PointArrays<F> w, DeviceMoveCounts* moves) {
  extern __shared__ __align__(32) char shared[];
  const int system = warp_system(w);
  if (system >= w.systems) return;
  WarpSystem<F> s(w, system, static_cast<int>(threadIdx.x) / 32, shared);
  Averages a = load_averages(w, system);
  LaneMoveCounts counted;
  CommonDraw mine{};
  const std::uint64_t first = w.again ? w.reached[system] : w.first_step;
  std::uint64_t t = first;
  for (; t < w.first_step + w.steps; ++t) {
    const auto turn = static_cast<int>((t - first) % 32);
    if (turn == 0) mine = common_draw(w.m.key, t + static_cast<std::uint64_t>(s.lane));
    const std::uint32_t which = __shfl_sync(kAll, mine.molecule, turn);
    if (__shfl_sync(kAll, mine.kind, turn) >= w.m.exchange)
      translate(s, t, which, counted);
    else if (!exchange(s, t, counted))
      break;
    if (w.measure) {
      measure_state(a, s.energy);
      if (w.m.exchange && s.lane == 0) measure_counts(w, system, s.energy, s.counts);
    }
    if ((t + 1) % kRefresh == 0) renew_energy(a, total_energy(s), s.energy);
  }
  s.store();
  if (s.lane == 0) {
    if (w.reached) w.reached[system] = t;
    store_averages(w, system, a);
    add_counts(moves, counted);
  }
}

}  // namespace manymove::adsorption
