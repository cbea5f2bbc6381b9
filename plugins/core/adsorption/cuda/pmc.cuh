// SPDX-License-Identifier: BSD-3-Clause
// The kernels in which a thread works alone: pmc, with a system each, and the grid, with a point.
#pragma once

#include "warp_points.cuh"

namespace manymove::adsorption {

inline constexpr int kPmcThreads = 32;  // of a block: the finest share of a multiprocessor

// Sites and, if they do not fit into shared memory, coordinates: [slots][3][systems], so that a
// warp reads those of 32 systems side by side.
template <class F>
struct Planes {
  std::uint32_t* sites;
  F* coordinates;
};

// The system of a thread. Resident: its coordinates are in shared memory, [slots][3][threads].
template <class F, bool Resident>
struct ThreadSystem {
  const PointArrays<F>& w;
  Planes<F> planes;
  int id;

  // Neighboring threads have neighboring systems, so that each access of a warp is one to 32
  // numbers in a row.
  __device__ F& coordinate(int slot, int axis) const {
    if constexpr (Resident) {
      extern __shared__ __align__(32) char shared[];
      return reinterpret_cast<F*>(
          shared)[(slot * 3 + axis) * kPmcThreads + static_cast<int>(threadIdx.x)];
    } else {
      return planes.coordinates[(static_cast<std::size_t>(slot) * 3 + axis) * w.systems + id];
    }
  }
  __device__ std::uint32_t& fraction(int slot, int axis) const {
    return planes.sites[(static_cast<std::size_t>(slot) * 3 + axis) * w.systems + id];
  }
  __device__ Site site(int slot) const {
    return {fraction(slot, 0), fraction(slot, 1), fraction(slot, 2)};
  }
  __device__ Point<F> point(int slot) const {
    return {coordinate(slot, 0), coordinate(slot, 1), coordinate(slot, 2)};
  }
  __device__ void put_point(int slot, const Point<F>& p) const {
    coordinate(slot, 0) = p.x;
    coordinate(slot, 1) = p.y;
    coordinate(slot, 2) = p.z;
  }
  __device__ void put_site(int slot, const Site& s) const {
    fraction(slot, 0) = s.x;
    fraction(slot, 1) = s.y;
    fraction(slot, 2) = s.z;
  }
};

// total_energy() of a warp, by one thread.
template <class F, bool Resident>
__device__ __noinline__ double total_energy(const ThreadSystem<F, Resident>& s) {
  const Model<F>& m = s.w.m;
  // The kWidth sums of PointSystem::total_energy(), by one thread.
  double part[kWidth] = {};
  for (int a = 0; a < m.species; ++a)
    for (int slot = m.first_slot[a]; slot < m.first_slot[a + 1]; ++slot) {
      const Point<F> p = s.point(slot);
      double sum = part[(slot - m.first_slot[a]) % kWidth];
      sum += static_cast<double>(framework_energy(m, a, s.site(slot)));
      // E_grid(r_i), then sum_(j > i) u(r_ij), in the order of PointSystem::total_energy().
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

// Eq. 5's pair sums. Its own slot must be far.
template <class F>
__device__ F pair_difference(const ThreadSystem<F, false>& s, int species, const Point<F>& to,
                             const Point<F>& from, const Site&) {
  const Model<F>& m = s.w.m;
  F sum = 0;
  for (int b = 0; b < m.species; ++b) {
    const PairLaw<F> law = m.law[species][b];
#pragma unroll 4
    for (int j = m.first_slot[b]; j < m.first_slot[b + 1]; ++j) {
      const Point<F> q = s.point(j);
      sum += pair_energy(m, law, to, q.x, q.y, q.z) - pair_energy(m, law, from, q.x, q.y, q.z);
    }
  }
  return sum;
}

// Bits of the molecules first ... first + 31, as far as they are below end, that may be within
// sqrt(reach2) of a place.
template <class F>
__device__ std::uint32_t near_bits(const ThreadSystem<F, true>& s, const Point<F>& place, F reach2,
                                   int first, int end) {
  std::uint32_t bits = 0;
  const int count = min(32, end - first);
#pragma unroll 8
  for (int i = 0; i < count; ++i) {
    const Point<F> q = s.point(first + i);
    if (squared_distance(s.w.m, place, q.x, q.y, q.z) < reach2) bits |= 1u << i;
  }
  return bits;
}

// The same over 64 molecules at a time: which of them may be within the cutoff of either place,
// then their energies. All others would have added zero.
template <class F>
__device__ F pair_difference(const ThreadSystem<F, true>& s, int species, const Point<F>& to,
                             const Point<F>& from, const Site& step) {
  const Model<F>& m = s.w.m;
  const F dx = coordinate(step.x, m.unit[0]), dy = coordinate(step.y, m.unit[1]),
          dz = coordinate(step.z, m.unit[2]);
  // A molecule within the cutoff of the new place is within the cutoff plus the displacement of the
  // old one.
  const F length = square_root(fused(dz, dz, fused(dy, dy, dx * dx)));
  const F rounding = F(1e-3) + F(1e-6) * (m.edge[0] + m.edge[1] + m.edge[2]);  // is less
  F sum = 0;
  for (int b = 0; b < m.species; ++b) {
    const PairLaw<F> law = m.law[species][b];
    // |r' - r_j| < R_c implies |r - r_j| < R_c + |r' - r|: one test serves both places.
    const F reach = square_root(law.cutoff2) + length + rounding, reach2 = reach * reach;
    const int end = m.first_slot[b + 1];
    for (int base = m.first_slot[b]; base < end; base += 64) {
      std::uint32_t low = near_bits(s, from, reach2, base, end);
      std::uint32_t high = near_bits(s, from, reach2, base + 32, end);
      while (low | high) {
        const bool upper = low == 0;
        // __ffs counts from 1: bit b of `low` is molecule base + b, bit b of `high` base + 32 + b.
        const int j = base + (upper ? 31 : -1) + __ffs(static_cast<int>(upper ? high : low));
        high = upper ? high & (high - 1) : high;
        low &= low - 1;  // zero stays zero
        const Point<F> q = s.point(j);
        sum += pair_energy(m, law, to, q.x, q.y, q.z) - pair_energy(m, law, from, q.x, q.y, q.z);
      }
    }
  }
  return sum;
}

// Section 4.1: a thread per system, and the same molecule in all systems of a warp.
template <class F, bool Resident>
__global__ void __launch_bounds__(kPmcThreads, sizeof(F) == 4 ? 16 : 8)
    pmc_kernel(const __grid_constant__ PointArrays<F> w, Planes<F> planes,
               DeviceMoveCounts* moves) {
  const int thread = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const bool idle = thread >= w.systems;  // but takes part in the shuffles
  const Model<F>& m = w.m;
  const ThreadSystem<F, Resident> s{w, planes, idle ? 0 : thread};
  const int lane = static_cast<int>(threadIdx.x) % 32, n = w.slots;
  const std::size_t first = static_cast<std::size_t>(s.id) * n;
  if (!idle)
    for (int slot = 0; slot < n; ++slot) {
      const Site site = w.sites[first + slot];
      s.put_site(slot, site);
      s.put_point(slot, to_point(m, site));
    }
  double energy = w.energies[s.id];
  Averages a = load_averages(w, s.id);
  LaneMoveCounts counted;
  std::uint32_t draw = 0;
  // Which molecule moves at a step; to be asked for one step after the other.
  const auto molecule_of = [&](std::uint64_t step) {
    const auto turn = static_cast<int>((step - w.first_step) % 32);
    if (turn == 0) draw = common_draw(m.key, step + static_cast<std::uint64_t>(lane)).molecule;
    return static_cast<int>(
        uniform_below(value_of_lane(draw, turn), static_cast<std::uint32_t>(n)));
  };
  int next = molecule_of(w.first_step);
  Site ahead = s.site(next);
  for (std::uint64_t t = w.first_step; t < w.first_step + w.steps; ++t) {
    const int k = next;
    const Site old = ahead;
    next = molecule_of(t + 1);
    if (idle) continue;
    ahead = s.site(next);  // long before it is needed
    int species = 0;
    while (k >= m.first_slot[species + 1]) ++species;
    std::uint32_t word[4];
    random_words(word, m.key, t, static_cast<std::uint32_t>(s.id), 0u, Purpose::propose);
    const Site step = step_of(m, word), fresh = moved(old, step);
    const Point<F> from = to_point(m, old), to = to_point(m, fresh);
    GridCell<F> cell_to, cell_from;  // fetched while the pairs are summed
    if (!m.cubic) {
      cell_to = grid_cell(m, species, fresh);
      cell_from = grid_cell(m, species, old);
    }
    s.coordinate(k, 0) = kFar<F>;  // out of its own reach
    const F pairs = pair_difference(s, species, to, from, step);
    // E_grid(r') - E_grid(r) of Eq. 5.
    const F field = m.cubic ? cubic_energy(m, species, fresh) - cubic_energy(m, species, old)
                            : interpolated(cell_to) - interpolated(cell_from);
    const F difference = min_of(pairs + field, F(kForbidden));
    // Eq. 2: accepted with the probability min(1, exp(-beta dE)).
    const bool accept = metropolis(m.beta, difference, word[3]);
    // Also where it is rejected: the coordinate was moved out of reach.
    s.put_point(k, accept ? to : from);
    if (accept) {
      s.put_site(k, fresh);
      energy += static_cast<double>(difference);
      ++counted.accepted;
      // The place that was read ahead may be the one that has just changed.
      if (next == k) ahead = fresh;
    }
    if (w.measure) {
      a.measure(energy);
      if (m.bins)
        atomicAdd(reinterpret_cast<unsigned long long*>(w.profile) +
                      static_cast<std::size_t>(s.id % w.groups) * m.bins +
                      profile_bin(m, accept ? fresh : old),
                  quantum(1.0));
    }
    if ((t + 1) % kRefresh == 0) a.renew(total_energy(s), energy);
  }
  if (idle) return;
  for (int slot = 0; slot < n; ++slot) w.sites[first + slot] = s.site(slot);
  w.energies[s.id] = energy;
  store_averages(w, s.id, a);
  add_counts(moves, counted);
}

// Every voxel's eight corners side by side, from the padded grid.
template <class F>
__global__ void corners_kernel(const __grid_constant__ Model<F> m, F* corners) {
  const auto voxel = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t row = m.points[0], layer = row * m.points[1], cell = layer * m.points[2];
  if (voxel >= cell * m.species) return;
  const GridValues<F> values(m, voxel / cell, static_cast<int>(voxel % row),
                             static_cast<int>(voxel % layer / row),
                             static_cast<int>(voxel % cell / layer));
  for (int c = 0; c < 8; ++c) corners[8 * voxel + c] = values.corner(c);
}

}  // namespace manymove::adsorption
