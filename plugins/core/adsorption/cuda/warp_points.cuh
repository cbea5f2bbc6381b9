// SPDX-License-Identifier: BSD-3-Clause
// Point particles of a warp's system in shared memory, and batches of proposals in registers.
#pragma once

#include "../point_proposals.h"
#include "warp_team.cuh"

namespace manymove::adsorption {

// Padded so that one access reads it whole.
template <class F>
struct alignas(4 * sizeof(F)) SharedPoint {
  F x, y, z, unused;
};

template <class F>
__host__ __device__ std::size_t warp_bytes(int slots, int bins) {
  // Points, the list of near ones, and sites of each slot; the bins of the profile; the counts.
  const std::size_t bytes = slots * (2 * sizeof(SharedPoint<F>) + sizeof(Site)) +
                            bins * sizeof(unsigned long long) + kMostSpecies * sizeof(int);
  return (bytes + 31) / 32 * 32;
}

__device__ inline Site site_of_lane(const Site& s, int lane) {
  return {value_of_lane(s.x, lane), value_of_lane(s.y, lane), value_of_lane(s.z, lane)};
}

// Own proposals of each lane: proposal lane * Own + c is item c of the lane.
template <int Own, class F>
struct RegisterBatch {
  static constexpr int kSome = Own < 2 ? Own : 2;  // more would take too many registers
  Site site[Own];
  F energy[Own], weight[Own];

  __device__ static int count() { return 32 * Own; }
  __device__ void each(const auto& f) {
    MM_UNROLL
    for (int c = 0; c < Own; ++c) f(Warp::lane() * Own + c, site[c]);
  }
  // Calls f(energy, weight) for all proposals; a lane takes its own in the order of its sums.
  __device__ void each_item(const Warp&, const auto& f) { each_of(0, f); }
  __device__ void each_of(int, const auto& f) {
    MM_UNROLL
    for (int c = 0; c < Own; ++c) f(energy[c], weight[c]);
  }
  __device__ void each_center(const Warp&, const auto& f) const {
    MM_UNROLL
    for (int c = 0; c < Own; ++c) f(site[c], weight[c]);
  }

  // ---- draws ----

  // Each proposal has random words of its own, by its number.
  __device__ void draw(PhiloxKey key, std::uint64_t step, int system, const auto& site_of) {
    each([&](int i, Site& to) {
      std::uint32_t word[4];
      random_words(word, key, step, static_cast<std::uint32_t>(system),
                   static_cast<std::uint32_t>(i), Purpose::propose);
      to = site_of(word);
    });
  }
  __device__ void set_first(const Site& s) {
    if (Warp::lane() == 0) site[0] = s;
  }
  // Every site becomes the sum of those up to it.
  __device__ void add_up() {
    MM_UNROLL
    for (int c = 1; c < Own; ++c) site[c] = moved(site[c], site[c - 1]);
    // The lane's own sums first, then the sum over the lanes below is added to each of them:
    // integers, so that the result is that of the serial sum.
    const Site own = site[Own - 1];
    const Site sum{warp_prefix_sum(own.x, Warp::lane()), warp_prefix_sum(own.y, Warp::lane()),
                   warp_prefix_sum(own.z, Warp::lane())};
    const Site before{sum.x - own.x, sum.y - own.y, sum.z - own.z};  // of the lanes below
    MM_UNROLL
    for (int c = 0; c < Own; ++c) site[c] = moved(site[c], before);
  }

  // ---- one of all ----

  __device__ Site site_at(int i) const { return site_of_lane(item(site, i % Own), i / Own); }
  __device__ Site site_of(int) const { return site[0]; }  // this lane's only one
  __device__ F energy_at(int i) const { return value_of_lane(item(energy, i % Own), i / Own); }
  __device__ F first_energy() const { return value_of_lane(energy[0], 0); }
  __device__ int choose(F rest, int lane) const {
    return lane * Own + value_of_lane(choose_own(rest, weight, Own), lane);
  }
  __device__ void by_owner(int i, const auto& f) const {
    if (Warp::lane() == i / Own) f(item(site, i % Own));
  }

  // ---- energies ----

  // kSome proposals of each lane.
  struct Part {
    RegisterBatch& batch;
    int begin_of;
    Point<F> place[kSome];
    F sum[kSome];
    GridCell<F> cell[kSome];

    __device__ void begin(const Model<F>& m, int species) {
      MM_UNROLL
      for (int c = 0; c < kSome; ++c) {
        place[c] = to_point(m, batch.site[begin_of + c]);
        sum[c] = 0;
      }
      if (m.cubic) return;
      MM_UNROLL  // fetched while the pairs are summed
          for (int c = 0; c < kSome; ++c) cell[c] = grid_cell(m, species, batch.site[begin_of + c]);
    }
    // The box around the lanes' places.
    __device__ Surroundings<F> surroundings(const Model<F>& m) const {
      const Site origin = site_of_lane(batch.site[begin_of], 0);
      Extent extent{};
      MM_UNROLL
      for (int c = 0; c < kSome; ++c) extent.include(origin, batch.site[begin_of + c]);
      MM_UNROLL
      for (int a = 0; a < 3; ++a) {
        // Redux instructions of compute capability 8.0.
        extent.low[a] = __reduce_min_sync(kWholeWarp, extent.low[a]);
        extent.high[a] = __reduce_max_sync(kWholeWarp, extent.high[a]);
      }
      return surroundings_of(m, origin, extent);
    }
    __device__ void each(const auto& f) {
      MM_UNROLL
      for (int c = 0; c < kSome; ++c) f(place[c], sum[c]);
    }
    __device__ void end(const Model<F>& m, int species) {
      MM_UNROLL
      for (int c = 0; c < kSome; ++c)
        // E_i = sum_j u(r_ij) + E_grid(r_i), Eq. 5.
        batch.energy[begin_of + c] =
            sum[c] +
            (m.cubic ? cubic_energy(m, species, batch.site[begin_of + c]) : interpolated(cell[c]));
    }
  };
  __device__ void each_part(const auto& f) {
    MM_UNROLL
    for (int c = 0; c < Own; c += kSome) f(Part{*this, c, {}, {}, {}});
  }

 private:
  // An item of a register array whose number is not known at compile time.
  template <class T>
  __device__ static T item(const T (&items)[Own], int number) {
    T found = items[0];
    MM_UNROLL
    for (int c = 1; c < Own; ++c)
      if (c == number) found = items[c];
    return found;
  }
};

// The memory of a warp's PointSystem.
template <class F, int Own = 1>
struct WarpPoints {
  // A branch that skips one slot costs a warp less than two writes to shared memory.
  static constexpr bool kHides = false;
  SharedPoint<F>*points, *near;
  std::uint64_t* profile;
  Site* sites;
  std::int32_t* counts;

  __device__ WarpPoints(const PointArrays<F>& w, int system, char* shared) {
    char* const mine =
        shared + static_cast<int>(threadIdx.x) / 32 * warp_bytes<F>(w.slots, w.m.bins);
    points = reinterpret_cast<SharedPoint<F>*>(mine);
    near = points + w.slots;
    profile = reinterpret_cast<std::uint64_t*>(near + w.slots);
    sites = reinterpret_cast<Site*>(profile + w.m.bins);
    counts = reinterpret_cast<std::int32_t*>(sites + w.slots);
    const std::size_t first = static_cast<std::size_t>(system) * w.slots;
    // The warp works on a copy of its system in shared memory until store().
    for (int b = Warp::lane(); b < w.m.bins; b += 32) profile[b] = 0;
    if (Warp::lane() < w.m.species)
      counts[Warp::lane()] =
          w.counts[static_cast<std::size_t>(system) * w.m.species + Warp::lane()];
    for (int slot = Warp::lane(); slot < w.slots; slot += 32) sites[slot] = w.sites[first + slot];
    // Lanes read the sites that others have copied.
    __syncwarp();
  }
  __device__ void store(const PointArrays<F>& w, int system) const {
    const int lane = Warp::lane();
    const std::size_t first = static_cast<std::size_t>(system) * w.slots;
    for (int slot = lane; slot < w.slots; slot += 32) w.sites[first + slot] = sites[slot];
    if (lane < w.m.species)
      w.counts[static_cast<std::size_t>(system) * w.m.species + lane] = counts[lane];
    // The profile of a warp goes to that of its group, which other warps share: integers add up to
    // the same sum in any order.
    if (!w.measure) return;
    for (int b = lane; b < w.m.bins; b += 32)
      if (profile[b])
        Warp::add(w.profile + static_cast<std::size_t>(system % w.groups) * w.m.bins + b,
                  profile[b]);
  }

  __device__ Site site(int slot) const { return sites[slot]; }
  __device__ Point<F> point(int slot) const {
    const SharedPoint<F> q = points[slot];
    return {q.x, q.y, q.z};
  }
  __device__ void set_point(int slot, const Point<F>& p) { points[slot] = {p.x, p.y, p.z, F(0)}; }
  __device__ void set(int slot, const Site& s, const Point<F>& p) {
    sites[slot] = s;
    set_point(slot, p);
  }
  __device__ void put_far(int slot) { points[slot].x = kFar<F>; }
  __device__ void set_near(int place, int slot) { near[place] = points[slot]; }
  __device__ const SharedPoint<F>* list_from(int slot) const { return points + slot; }
  __device__ const SharedPoint<F>* near_list() const { return near; }
  // Leaves the empty framework.
  __device__ void forget_molecules(int species) {
    // The numbers have been read by all lanes before they become 0.
    __syncwarp();
    if (Warp::lane() < species) counts[Warp::lane()] = 0;
    __syncwarp();
  }

  __device__ static RegisterBatch<Own, F> batch() { return {}; }
  __device__ static RegisterBatch<1, F> tries() { return {}; }
};

// Own: proposals of each lane, in steps of several.
template <int Own = 1>
struct PointsOfWarp {
  template <class F, class Work>
  __device__ static void make(const PointArrays<F>& w, int system, const Work& work) {
    extern __shared__ __align__(32) char shared[];
    const Warp warp;
    PointSystem<Warp, F, WarpPoints<F, Own>> s(w, system, warp, {w, system, shared});
    work(s);
  }
};

}  // namespace manymove::adsorption
