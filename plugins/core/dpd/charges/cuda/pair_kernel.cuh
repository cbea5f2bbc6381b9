// SPDX-License-Identifier: BSD-3-Clause
// Forces of charges in real space: a few lanes of a warp for each charge.
#pragma once

#include "../../../runtime/warp.cuh"
#include "device_charges.cuh"

namespace manymove::dpd {

namespace {

using Counter = unsigned long long;
constexpr int kDipole = 14;  // of DeviceChargeArrays::sums

__device__ void add_integer(Counter* to, std::int64_t value) {
  atomicAdd(to, static_cast<Counter>(value));
}

constexpr int kLanesOfCharge = 8;
static_assert(kMostOrder <= kLanesOfCharge);

// What the lanes of a charge share: places that may be near, in runs that follow each other in
// memory, and those that are near and have not been added yet.
struct NearOfLanes {
  static constexpr int kMostRows = 25, kRoom = 64;
  struct Run {
    int end, shift;  // candidates below this number, and not in earlier runs, are at number + shift
  } run[2 * kMostRows];
  int near[kRoom];
  std::int64_t reaction[3 * kLanesOfCharge];  // of a pair of each lane
};

// All but the charge, in one access.
__device__ ChargedPlace coordinates_of(const ChargedPlace& place) {
  const uint4 words = reinterpret_cast<const uint4&>(place);
  return {words.x, words.y, words.z, words.w, 0};
}

// Fills the runs with the places around one from number `least` on. Returns how many places there
// are. All threads of a warp call this. here: whether this charge has any.
__device__ int find_runs(const ChargeLaw& law, const int* start, const ChargedPlace& p, int least,
                         bool here, int lane, NearOfLanes& of) {
  constexpr int lanes = kLanesOfCharge, shift = 26;  // of numbers of runs, above those of places
  const CellRows rows(law, p);
  int candidates = 0, runs = 0;
  for (int first = 0; first < rows.count(); first += lanes) {
    int begin[2], length[2] = {}, which = 0;
    if (first + lane < rows.count() && here)
      rows.places_of(law, start, first + lane, [&](int from, int to) {
        begin[which] = max(from, least);
        length[which] = max(to - begin[which], 0);
        ++which;
      });
    const int own = length[0] + length[1] + (((length[0] > 0) + (length[1] > 0)) << shift);
    const int sum = warp_prefix_sum<lanes>(own, lane);
    int at = candidates + (sum - own) % (1 << shift), run = runs + ((sum - own) >> shift);
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      if (length[k] > 0) of.run[run++] = {at + length[k], begin[k] - at};
      at += length[k];
    }
    const int all = value_of_lane(sum, lanes - 1, lanes);
    candidates += all % (1 << shift);
    runs += all >> shift;
  }
  __syncwarp();
  return candidates;
}

// The pairs of the k-th place, whose charge is p. All threads of a warp call this. Candidates are
// dealt to lanes in turn, and near places again, because the lanes of a warp wait for the one that
// has the most. once: only pairs with later places, to whose forces the opposite is added.
template <bool reading, Precision P, class Real>
__device__ ChargeSums sums_of_lanes(const DeviceChargeArrays<P>& a, const Cubic<Real>* table,
                                    const ChargedPlace& p, int k, bool once, bool here, int lane,
                                    NearOfLanes& of) {
  constexpr int lanes = kLanesOfCharge;
  const int candidates =
      find_runs(a.law, reinterpret_cast<const int*>(a.start), p, once ? k + 1 : 0, here, lane, of);
  ChargeSums sums;
  int count = 0, run = 0;
  const auto add = [&] {
    __syncwarp();
    for (int first = 0; first < count; first += lanes) {
      ChargeSums one;
      if (first + lane < count) {
        const ChargedPlace& other = a.place[of.near[first + lane]];
        ChargedPlace q = coordinates_of(other);
        q.charge = other.charge;
        add_pair<reading>(a.law, table, a.law.energy, 1, p, q, one);
        sums.add(one);
      }
      if (!once) continue;
      // Neighboring lanes add the components of a pair, which are in one sector of memory.
      __syncwarp(mask_of_group<lanes>(lane));
      for (int axis = 0; axis < 3; ++axis) of.reaction[3 * lane + axis] = -one.force[axis];
      __syncwarp(mask_of_group<lanes>(lane));
      for (int k = lane; k < 3 * min(lanes, count - first); k += lanes)
        add_integer(&a.pairs[kOfCharge * of.near[first + k / 3] + k % 3], of.reaction[k]);
    }
    count = 0;
    __syncwarp();
  };
  NearOfLanes::Run at = of.run[0];
  const int most = __reduce_max_sync(kWholeWarp, candidates);
  for (int first = 0; first < most; first += lanes) {
    bool near = false;
    int other = first + lane;
    if (other < candidates) {
      while (other >= at.end) at = of.run[++run];
      other += at.shift;
      near = are_near(a.law, p, coordinates_of(a.place[other]));
    }
    const unsigned mask = __ballot_sync(kWholeWarp, near) & mask_of_group<lanes>(lane);
    if (near) of.near[count + lanes_before(mask, static_cast<int>(threadIdx.x) % 32)] = other;
    count += __popc(mask);
    if (__any_sync(kWholeWarp, count > NearOfLanes::kRoom - lanes)) add();
  }
  add();
  return sums;
}

// kLanesOfCharge threads per charge: forces in real space, and of waves one by one. Real: the
// precision of pairs. All numbers of DeviceChargeArrays::pairs are 0 before it.
template <Precision P, class Real, bool reading>
__global__ void __launch_bounds__(kThreads, reading             ? 3
                                            : sizeof(Real) == 4 ? 5
                                                                : 4)
    pair_kernel(const __grid_constant__ DeviceChargeArrays<P> a) {
  if (a.step.is_stale()) return;
  const int thread = index_of_thread(), k = thread / kLanesOfCharge, lane = thread % kLanesOfCharge;
  const ChargedPlace p = a.place[min(k, a.charges - 1)];
  const bool here = k < a.charges && a.carrier[p.number] >= 0;
  if (!__any_sync(kWholeWarp, here)) return;
  __shared__ NearOfLanes near[kThreads / kLanesOfCharge];
  const Cubic<Real>* table;
  if constexpr (std::is_same_v<Real, float>)
    table = a.law.single_force;
  else
    table = a.law.force;
  // Sums of energies have each pair at both ends.
  ChargeSums sums = sums_of_lanes<reading>(a, table, p, k, !reading && a.alone, here, lane,
                                           near[threadIdx.x / kLanesOfCharge]);
  leave_out_specials<reading>(a.law, a.special, p, sums, lane, kLanesOfCharge);
  add_waves(a.waves, p, sums, lane, kLanesOfCharge);
  for (std::int64_t& sum : sums.force) sum = warp_sum<kLanesOfCharge>(sum);
  if (here && lane < 3)
    add_integer(&a.pairs[kOfCharge * k + lane], lane == 0   ? sums.force[0]
                                                : lane == 1 ? sums.force[1]
                                                            : sums.force[2]);
  if constexpr (reading) {
    // Of the whole warp at once, because all warps add to the same few numbers.
    const auto add = [&](int sum, std::int64_t value) {
      const std::int64_t of_warp = warp_sum(here ? value : 0);
      if (threadIdx.x % 32 == 0) add_integer(&a.sums[sum], of_warp);
    };
    ChargeTotals::split(sums, [&](int k, std::int64_t high, std::int64_t low) {
      add(k, high);
      add(7 + k, low);
    });
  }
}

}  // namespace

}  // namespace manymove::dpd
