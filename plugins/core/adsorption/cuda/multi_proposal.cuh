// SPDX-License-Identifier: BSD-3-Clause
// The kernels that look at many places at once: mup, mdp, starts and test molecules.
#pragma once

#include "kernels.cuh"

namespace manymove::adsorption {

// ---- mup, mdp: a warp per system, Own proposals per lane ----

// A component of a register array that is not known at compile time.
template <int Own>
__device__ Site component(const Site (&array)[Own], int index) {
  Site s = array[0];
  MM_UNROLL
  for (int c = 1; c < Own; ++c)
    if (c == index) s = array[c];
  return s;
}

__device__ inline Site broadcast_site(const Site& s, int lane) {
  return {__shfl_sync(kAll, s.x, lane), __shfl_sync(kAll, s.y, lane), __shfl_sync(kAll, s.z, lane)};
}

__device__ inline Site scan_step(const Site& s, int off, int lane) {
  const Site before{__shfl_up_sync(kAll, s.x, off), __shfl_up_sync(kAll, s.y, off),
                    __shfl_up_sync(kAll, s.z, off)};
  return lane >= off ? moved(s, before) : s;
}

// This lane's proposals, lane * Own + c. The walks of section 4.4: the first goes from the old
// state over proposals 1 ... P - 1 - l, the second over P - l ... P - 1; a proposal is the old
// place plus the sum of the steps up to it, less those of the first walk on the second.
template <int Own, class F>
__device__ void draw_proposals(const WarpSystem<F>& s, std::uint64_t step, const Site& old,
                               std::uint32_t split_word, Site (&site)[Own]) {
  constexpr int P = 32 * Own;
  const bool anywhere = uniform_proposals(s.w, step);
  MM_UNROLL
  for (int c = 0; c < Own; ++c) {
    std::uint32_t word[4];
    random_words(word, s.m.key, step, static_cast<std::uint32_t>(s.id),
                 static_cast<std::uint32_t>(s.lane * Own + c), Purpose::propose);
    site[c] = anywhere ? Site{word[0], word[1], word[2]} : step_of(s.m, word);
  }
  if (anywhere) {
    if (s.lane == 0) site[0] = old;
    return;
  }
  if (s.lane == 0) site[0] = {0, 0, 0};
  MM_UNROLL
  for (int c = 1; c < Own; ++c) site[c] = moved(site[c], site[c - 1]);
  Site sum = site[Own - 1];  // of this lane, then of the lanes up to it
  MM_UNROLL
  for (int off = 1; off < 32; off *= 2) sum = scan_step(sum, off, s.lane);
  const Site up{__shfl_up_sync(kAll, sum.x, 1), __shfl_up_sync(kAll, sum.y, 1),
                __shfl_up_sync(kAll, sum.z, 1)};
  MM_UNROLL
  for (int c = 0; c < Own; ++c) site[c] = s.lane > 0 ? moved(site[c], up) : site[c];
  // The second walk starts from the old state again.
  const auto split = static_cast<int>(uniform_below(split_word, static_cast<std::uint32_t>(P)));
  const int last = P - split - 1;  // of the first walk
  const Site end = broadcast_site(component<Own>(site, last % Own), last / Own);
  MM_UNROLL
  for (int c = 0; c < Own; ++c) {
    if (s.lane * Own + c > last)
      site[c] = {site[c].x - end.x, site[c].y - end.y, site[c].z - end.z};
    site[c] = moved(site[c], old);
  }
}

// The box around the lanes' places.
template <int Some, class F>
__device__ Surroundings<F> surroundings(const Model<F>& m, const Site* site) {
  const Site origin = broadcast_site(site[0], 0);
  Extent extent{};
  MM_UNROLL
  for (int c = 0; c < Some; ++c) extent.include(origin, site[c]);
  MM_UNROLL
  for (int a = 0; a < 3; ++a) {
    extent.low[a] = __reduce_min_sync(kAll, extent.low[a]);
    extent.high[a] = __reduce_max_sync(kAll, extent.high[a]);
  }
  return surroundings_of(m, origin, extent);
}

// The molecules begin ... end that some place in the box may feel, in their order, in s.near; how
// many. The others would add zero to the energies of all places there.
template <class F>
__device__ int gather_near(const WarpSystem<F>& s, const Surroundings<F>& r, F cutoff2, int begin,
                           int end) {
  int count = 0;
  for (int base = begin; base < end; base += 32) {
    const int j = base + s.lane;
    SharedPoint<F> q{};
    bool keep = false;
    if (j < end) {
      q = s.points[j];
      keep = may_feel(s.m, r, cutoff2, q.x, q.y, q.z);
    }
    const unsigned kept = __ballot_sync(kAll, keep);
    if (keep) s.near[count + __popc(kept & ((1u << s.lane) - 1))] = q;
    count += __popc(kept);
  }
  __syncwarp();
  return count;
}

// Energies of Some of the lane's proposals with all molecules in shared memory. together: they are
// close to each other, so that many molecules are too far from all.
template <int Some, class F>
__device__ void proposal_energies(const WarpSystem<F>& s, int species, const Site* site,
                                  bool together, F* energy) {
  Point<F> p[Some];
  F sum[Some];
  MM_UNROLL
  for (int c = 0; c < Some; ++c) {
    p[c] = to_point(s.m, site[c]);
    sum[c] = 0;
  }
  GridCell<F> cell[Some];  // fetched while the pairs are summed
  if (!s.m.cubic) {
    MM_UNROLL
    for (int c = 0; c < Some; ++c) cell[c] = grid_cell(s.m, species, site[c]);
  }
  Surroundings<F> around{};
  if (together) around = surroundings<Some>(s.m, site);
  for (int b = 0; b < s.m.species; ++b) {
    const PairLaw<F> law = s.m.law[species][b];
    const int begin = s.m.first_slot[b];
    int count = s.counts[b];
    const SharedPoint<F>* list = s.points + begin;
    if (together) {
      __syncwarp();  // the last list has been read
      count = gather_near(s, around, law.cutoff2, begin, begin + count);
      list = s.near;
    }
#pragma unroll 2
    for (int j = 0; j < count; ++j) {
      const SharedPoint<F> q = list[j];
      MM_UNROLL
      for (int c = 0; c < Some; ++c) {
        sum[c] += pair_with(s.m, law, p[c], q);
      }
    }
  }
  MM_UNROLL
  for (int c = 0; c < Some; ++c)
    energy[c] = sum[c] + (s.m.cubic ? cubic_energy(s.m, species, site[c]) : interpolated(cell[c]));
}

template <int Own, class F>
__global__ void __launch_bounds__(kThreads)
    multiple_kernel(const __grid_constant__ PointArrays<F> w, DeviceMoveCounts* moves) {
  extern __shared__ __align__(32) char shared[];
  const int system = warp_system(w);
  if (system >= w.systems) return;
  WarpSystem<F> s(w, system, static_cast<int>(threadIdx.x) / 32, shared);
  Averages a = load_averages(w, system);
  LaneMoveCounts counted;
  const int n = s.molecules(), lane = s.lane;
  for (std::uint64_t t = w.first_step; t < w.first_step + w.steps; ++t) {
    std::uint32_t word[4];
    // Lane 0 draws for all systems, the others for this one.
    random_words(word, w.m.key, t, lane == 0 ? kEverySystem : static_cast<std::uint32_t>(system),
                 0u, lane == 0 ? Purpose::common : Purpose::choose);
    const std::uint32_t which = __shfl_sync(kAll, word[0], 0);
    const std::uint32_t split_word = __shfl_sync(kAll, word[0], 1);
    const std::uint32_t choice = __shfl_sync(kAll, word[1], 1);
    int species;
    const int slot =
        s.find(static_cast<int>(uniform_below(which, static_cast<std::uint32_t>(n))), species);
    Site site[Own];
    draw_proposals<Own>(s, t, s.sites[slot], split_word, site);
    __syncwarp();
    if (lane == 0) s.points[slot].x = F(1e18);  // out of its own reach
    __syncwarp();
    F difference[Own], weights[Own];
    constexpr int kSome = Own < 2 ? Own : 2;  // more would take too many registers
    MM_UNROLL
    for (int c = 0; c < Own; c += kSome)
      proposal_energies<kSome>(s, species, site + c, !uniform_proposals(w, t), difference + c);
    const F old = __shfl_sync(kAll, difference[0], 0);
    F level[6] = {}, first = 0, second = 0, lowest = 0;
    MM_UNROLL
    for (int c = 0; c < Own; ++c) {
      difference[c] = energy_difference(difference[c], old);
      lowest = lowest_of(lowest, difference[c]);
    }
    F shift = weight_shift(w.m.beta, lowest);
    if (__any_sync(kAll, shift != F(0))) {
      MM_UNROLL
      for (int k = 0; k < 5; ++k)
        lowest = lowest_of(lowest, __shfl_xor_sync(kAll, lowest, 16 >> k));
      shift = lowest;
    }
    MM_UNROLL
    for (int c = 0; c < Own; ++c) {
      weights[c] = weight(w.m.beta, difference[c] - shift);
      const F product = mul_rn(weights[c], difference[c]);
      level[0] += weights[c];
      first += product;
      second = fused(product, difference[c], second);
    }
    MM_UNROLL
    for (int k = 0; k < 5; ++k) level[k + 1] = level[k] + __shfl_xor_sync(kAll, level[k], 16 >> k);
    F rest = mul_rn(static_cast<F>(uniform(choice)), level[5]);
    const int winner =
        choose_lane(rest, [&](int k, int l) { return __shfl_sync(kAll, level[k], l); });
    const int own = __shfl_sync(kAll, choose_own(rest, weights, Own), winner);
    F change = difference[0];
    MM_UNROLL
    for (int c = 1; c < Own; ++c)
      if (c == own) change = difference[c];
    change = __shfl_sync(kAll, change, winner);
    const double before = s.energy;
    s.energy += static_cast<double>(change);
    __syncwarp();  // all have read what the winner writes
    if (lane == winner) s.put(slot, component<Own>(site, own));
    if (winner * Own + own != 0) ++counted.accepted;
    __syncwarp();
    if (w.measure) {
      const double total = static_cast<double>(level[5]);
      const double mean = static_cast<double>(butterfly(first)) / total;
      measure_state(a, s.energy);
      a.waste += before + mean;
      if (w.moments) {
        const double square = static_cast<double>(butterfly(second)) / total;
        a.jump += square;
        a.waste_squared += fused(before, before + 2 * mean, square);
      }
      if (w.m.bins) {
        MM_UNROLL
        for (int c = 0; c < Own; ++c) {
          const std::uint64_t q = quantum(static_cast<double>(weights[c]) / total);
          if (q) atomicAdd(s.profile + profile_bin(w.m, site[c]), q);
        }
      }
    }
    if ((t + 1) % kRefresh == 0) renew_energy(a, total_energy(s), s.energy);
  }
  s.store();
  if (lane == 0) {
    store_averages(w, system, a);
    add_counts(moves, counted);
  }
}

// ---- starts, energies, test molecules: a warp per system ----

template <class F>
__global__ void __launch_bounds__(kThreads)
    place_kernel(const __grid_constant__ PointArrays<F> w, DeviceMoveCounts* moves) {
  extern __shared__ __align__(32) char shared[];
  const int system = warp_system(w);
  if (system >= w.systems) return;
  WarpSystem<F> s(w, system, static_cast<int>(threadIdx.x) / 32, shared);
  int wanted[kMostSpecies] = {};
  for (int b = 0; b < w.m.species; ++b) wanted[b] = s.counts[b];
  __syncwarp();
  if (s.lane < w.m.species) s.counts[s.lane] = 0;
  __syncwarp();
  std::uint64_t molecule = 0;  // of all species: places must not depend on capacities
  for (int b = 0; b < w.m.species; ++b)
    for (int i = 0; i < wanted[b]; ++i, ++molecule) {
      // Where one system finds no room, the others are given up.
      const unsigned stuck =
          s.lane == 0 ? *static_cast<const volatile unsigned*>(&moves->stuck) : 0;
      if (__shfl_sync(kAll, stuck, 0)) return;
      const int slot = w.m.first_slot[b] + i;
      F best = F(kForbidden);
      for (std::uint32_t round = 0; round < kPlaceRounds && !(best < F(0)); ++round) {
        std::uint32_t word[4];
        random_words(word, w.m.key, molecule, static_cast<std::uint32_t>(system),
                     round * kWidth + static_cast<std::uint32_t>(s.lane), Purpose::place);
        const Site site{word[0], word[1], word[2]};
        F energy;
        proposal_energies<1>(s, b, &site, false, &energy);
        if (!(framework_energy(w.m, b, site) < w.hill)) energy = F(kForbidden);
        F lowest = energy;
        MM_UNROLL
        for (int off = 16; off > 0; off /= 2)
          lowest = lowest_of(lowest, __shfl_xor_sync(kAll, lowest, off));
        const int winner = __ffs(static_cast<int>(__ballot_sync(kAll, energy == lowest))) - 1;
        if (lowest < best) {
          best = lowest;
          if (s.lane == winner) s.put(slot, site);
        }
      }
      if (!(best < w.hill) && s.lane == 0) atomicOr(&moves->stuck, 1u);
      __syncwarp();
      if (s.lane == 0) s.counts[b] = i + 1;
      __syncwarp();
    }
  s.energy = total_energy(s);
  s.store();
}

template <class F>
__global__ void __launch_bounds__(kThreads)
    energy_kernel(const __grid_constant__ PointArrays<F> w) {
  extern __shared__ __align__(32) char shared[];
  const int system = warp_system(w);
  if (system >= w.systems) return;
  WarpSystem<F> s(w, system, static_cast<int>(threadIdx.x) / 32, shared);
  s.energy = total_energy(s);
  if (s.lane == 0) w.energies[system] = s.energy;
}

template <class F>
__global__ void __launch_bounds__(kThreads)
    test_kernel(const __grid_constant__ TestInsertions<F> t) {
  extern __shared__ __align__(32) char shared[];
  const PointArrays<F>& w = t.work;
  const int system = warp_system(w);
  if (system >= w.systems) return;
  WarpSystem<F> s(w, system, static_cast<int>(threadIdx.x) / 32, shared);
  if (t.empty && s.lane < w.m.species) s.counts[s.lane] = 0;
  __syncwarp();
  double part[2] = {};
  for (std::uint64_t base = 0; base < t.count; base += kWidth) {
    const std::uint64_t mine = base + static_cast<std::uint64_t>(s.lane);
    std::uint32_t word[4];
    random_words(word, w.m.key, t.first + mine, static_cast<std::uint32_t>(system),
                 static_cast<std::uint32_t>(t.species), Purpose::widom);
    const Site site{word[0], word[1], word[2]};
    F energy;
    proposal_energies<1>(s, t.species, &site, false, &energy);
    if (mine >= t.count) continue;
    const double factor = static_cast<double>(weight(w.m.beta, energy));
    part[0] += factor;
    part[1] = fused(factor, static_cast<double>(energy), part[1]);
  }
  for (int q = 0; q < 2; ++q) {
    const double sum = butterfly(part[q]);
    if (s.lane == 0) t.sums[2 * system + q] = sum;
  }
}

}  // namespace manymove::adsorption
