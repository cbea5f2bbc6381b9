// SPDX-License-Identifier: BSD-3-Clause
// Decisions of the method "tree" on a GPU (docs/theory/coulomb.md, section 8): an epoch is one
// cooperative kernel, which takes its trials in batches. Within a batch all decisions are guessed,
// what the guesses change for later trials is added, and what follows from that is guessed again,
// until nothing changes: then each decision is the one that those before it entail.
#pragma once

#include <cooperative_groups.h>

#include "far_field.cuh"
#include "tree.h"

namespace manymove::coulomb {
namespace {

constexpr int kTreeThreads = 256;

struct TreeView {
  // By place in the order of a sweep, hopeful trials only
  const Site* from;
  const Site* to;
  const std::int32_t* order;
  const std::uint8_t* contested;  // may overlap with an ion whose trial comes earlier
  double* change;                 // estimate, in units of the potential
  double* error;                  // in quanta
  std::uint8_t* accepted;
  // By ion
  Site* site;
  const std::int64_t* most;
  std::uint8_t* moved;  // in this sweep, as guessed so far
  const double* radius;
  const std::int32_t *head, *next;          // where ions were at the start of the sweep
  const std::int32_t *new_head, *new_next;  // where hopeful trials would put them
  // Lists of a batch: trials whose guess has changed, thrice, then those accepted
  std::int32_t* flipped[3];
  std::int32_t* moves;
  std::int32_t* unknown;
  unsigned long long* exact;  // of the trials of that list, their sums
  std::int32_t* epoch_moves;  // places accepted in this epoch
  unsigned* count;            // of the lists: flipped, moves, unknown, epoch_moves; the first wrong
  TreeTally* tally;
  double quanta;
  int ions, batch;
};
enum { kMoves = 3, kUnknown, kEpochMoves, kWrong, kCounts };

// What others may have written in this kernel.
template <class T>
__device__ T fresh(const T* p) {
  return *static_cast<const volatile T*>(p);
}

// Of hopeful trials: which overlap with anything that may be there. A thread per trial.
__global__ void contested_kernel(const __grid_constant__ Rules r, TreeView v, const float4* trial,
                                 const std::uint8_t* hopeful, int count, std::uint8_t* contested) {
  const int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= count) return;
  const int i = v.order[k];
  const Site to = site_at(v.to, k);
  const auto start = [&](int j) { return v.site[j]; };
  const auto end = [&](int j) { return Site{trial[j].x, trial[j].y, trial[j].z, 0}; };
  contested[k] = overlaps(r, {v.head, v.next}, start, v.radius, i, to.x, to.y, to.z,
                          [](int) { return true; }) ||
                 overlaps(r, {v.new_head, v.new_next}, end, v.radius, i, to.x, to.y, to.z,
                          [&](int j) { return j < i && hopeful[j]; });
}

// Sites and new places by place in the order of a sweep; new places by cell.
__global__ void arrange_kernel(const __grid_constant__ Rules r, const Site* site,
                               const float4* trial, const std::int32_t* order, int count,
                               Site* from, Site* to, std::int32_t* new_head,
                               std::int32_t* new_next) {
  const int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= count) return;
  const int i = order[k];
  const float4 t = trial[i];
  const Site at = site[i];
  from[k] = at;
  to[k] = {t.x, t.y, t.z, at.charge};
  new_next[i] = atomicExch(&new_head[cell_of(r, t.x, t.y, t.z)], i);
}

template <Space B, bool Single>
struct Epoch {
  const Rules& r;
  const TreeView& v;
  const SmoothRest<double>& rest;
  const float4* trial;
  const cooperative_groups::grid_group grid = cooperative_groups::this_grid();
  const int thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
  const int lane = threadIdx.x % 32;

  // What the move of ion `a` does to the change of trial (from, to), without its charge.
  __device__ double pair(const Site& from, const Site& to, const Site& before,
                         const Site& after) const {
    const Separation<double> d[4] = {separation<B>(r, to.x, to.y, to.z, after),
                                     separation<B>(r, from.x, from.y, from.z, after),
                                     separation<B>(r, to.x, to.y, to.z, before),
                                     separation<B>(r, from.x, from.y, from.z, before)};
    double p[4];
    if constexpr (B == Space::ewald) {
      for (int n = 0; n < 4; n += 2) {
        const Separation<double> two[2] = {d[n], d[n + 1]};
        double q[2];
        unit_potentials<B>(r, rest, two, q);
        p[n] = q[0];
        p[n + 1] = q[1];
      }
    } else {
      unit_potentials<B>(r, rest, d, p);
    }
    return before.charge * ((p[0] - p[1]) - (p[2] - p[3]));
  }

  __device__ bool blocked(int k, int i, const Site& to) const {
    if (!v.contested[k]) return false;
    const auto now = [&](int j) { return v.site[j]; };
    const auto then = [&](int j) { return Site{trial[j].x, trial[j].y, trial[j].z, 0}; };
    // An ion that has moved in this sweep is found among the new places.
    return overlaps(r, {v.head, v.next}, now, v.radius, i, to.x, to.y, to.z,
                    [&](int j) { return !fresh(v.moved + j); }) ||
           overlaps(r, {v.new_head, v.new_next}, then, v.radius, i, to.x, to.y, to.z,
                    [&](int j) { return j < i && fresh(v.moved + j); });
  }
  __device__ bool guess(int k, int i, const Site& to) const {
    const double change = v.change[k] * v.quanta;
    return (to.charge > 0 ? change : -change) < static_cast<double>(v.most[i]) &&
           !blocked(k, i, to);
  }
  __device__ void set(int k, int i, bool accept, int list) const {
    v.accepted[k] = accept;
    v.moved[i] = accept;
    v.flipped[list][atomicAdd(v.count + list, 1u)] = 2 * k + accept;
  }

  // Guesses of the trials from `decided` on, until nothing changes; `list` holds the last changes.
  __device__ void settle(int begin, int end, int decided, int& list) const {
    for (;;) {
      const int changed = static_cast<int>(fresh(v.count + list));
      const int next = (list + 1) % 3;
      if (changed == 0) return;
      if (thread == 0) v.count[(list + 2) % 3] = 0;
      for (int k = begin + thread / 32; k < end; k += threads / 32) {
        const Site from = site_at(v.from, k), to = site_at(v.to, k);
        double sum = 0;
        for (int f = lane; f < changed; f += 32) {
          const int entry = v.flipped[list][f], l = entry >> 1;
          if (l >= k) continue;
          const double gain = pair(from, to, site_at(v.from, l), site_at(v.to, l));
          sum += entry & 1 ? gain : -gain;
        }
        for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
        if (lane != 0) continue;
        v.change[k] += sum;
        if (k < decided) continue;
        const int i = v.order[k];
        const bool accept = guess(k, i, to);
        if (accept != v.accepted[k]) set(k, i, accept, next);
      }
      list = next;
      grid.sync();
    }
  }

  // The brush's sums of the trials that the estimates leave open, as everything stands at their
  // turn.
  __device__ void direct_sums(int begin, int count) const {
    for (int u = 0; u < count; ++u) {
      const int k = v.unknown[u], i = v.order[k];
      const Site from = site_at(v.from, k), to = site_at(v.to, k);
      const Pairs<true, B> pairs(r, rest, from, to);
      const auto term = [&](const Site& at) {
        const Partner<true> g = as_partner<true>(at);
        return pairs.change(g, pairs.to(g));
      };
      std::int64_t sum = 0;
      for (int j = thread; j < v.ions; j += threads)
        if (j != i) sum = wrapping_sum(sum, term(v.site[j]));
      for (int l = begin + thread; l < k; l += threads)
        if (v.accepted[l])
          sum = wrapping_sum(sum,
                             wrapping_difference(term(site_at(v.to, l)), term(site_at(v.from, l))));
      for (int step = 16; step > 0; step /= 2)
        sum = wrapping_sum(sum, __shfl_xor_sync(0xffffffffu, sum, step));
      if (lane == 0) atomicAdd(v.exact + u, static_cast<unsigned long long>(sum));
    }
  }

  // Returns whether all guesses hold; otherwise the first that does not has been set right, and the
  // trials up to it are decided.
  __device__ bool verify(int begin, int end, int& decided, int& list, TreeTally& tally) const {
    for (int k = begin + thread; k < end; k += threads) {
      if (k < decided) continue;
      const int i = v.order[k];
      const Site to = site_at(v.to, k);
      if (verdict(v.change[k] * v.quanta, v.error[k], v.most[i], to.charge) == Verdict::unknown &&
          !blocked(k, i, to)) {
        const unsigned u = atomicAdd(v.count + kUnknown, 1u);
        v.unknown[u] = k;
        v.exact[u] = 0;
      }
    }
    grid.sync();
    const int count = static_cast<int>(fresh(v.count + kUnknown));
    if (count == 0) return true;
    direct_sums(begin, count);
    grid.sync();
    if (thread == 0) tally.direct += count;
    for (int u = thread; u < count; u += threads) {
      const int k = v.unknown[u], i = v.order[k];
      const auto sum = static_cast<std::int64_t>(v.exact[u]);
      if (accepts(sum, v.most[i], v.from[k].charge) != static_cast<bool>(v.accepted[k]))
        atomicMin(v.count + kWrong, static_cast<unsigned>(k));
    }
    grid.sync();
    const unsigned wrong = fresh(v.count + kWrong);
    grid.sync();
    if (thread == 0) v.count[kUnknown] = 0;
    if (wrong == 0xffffffffu) return true;
    const int k = static_cast<int>(wrong);
    list = 0;
    if (thread == 0) {
      v.count[kWrong] = 0xffffffffu;
      v.count[0] = v.count[1] = v.count[2] = 0;
      set(k, v.order[k], !v.accepted[k], 0);
    }
    decided = k + 1;
    grid.sync();
    return false;
  }

  // Accepted trials take effect; their list is for the trials after the batch.
  __device__ void commit(int begin, int end, TreeTally& tally) const {
    for (int k = begin + thread; k < end; k += threads) {
      if (!v.accepted[k]) continue;
      const Site to = site_at(v.to, k);
      v.site[v.order[k]] = to;
      v.moves[atomicAdd(v.count + kMoves, 1u)] = k;
      v.epoch_moves[atomicAdd(v.count + kEpochMoves, 1u)] = k;
      const std::int64_t energy =
          nearest_integer(static_cast<double>(to.charge) * v.change[k] * v.quanta);
      ++tally.accepted;
      tally.low += static_cast<unsigned long long>(energy) & 0xffffffffu;
      tally.high += energy >> 32;
    }
  }

  // What the batch's moves change for the rest of the epoch; a thread per trial and slice of moves.
  __device__ void follow_moves(int begin, int end) const {
    constexpr int kTile = kTreeThreads;
    __shared__ Site before[kTile], after[kTile];
    const int moves = static_cast<int>(fresh(v.count + kMoves)), rest_trials = end - begin;
    if (rest_trials <= 0) return;
    const int groups = (rest_trials + kTreeThreads - 1) / kTreeThreads,
              tiles = (moves + kTile - 1) / kTile;
    const int slices = min(max(1, static_cast<int>(gridDim.x) / groups), tiles);
    for (int item = blockIdx.x; item < groups * slices; item += gridDim.x) {
      const int k = begin + item % groups * kTreeThreads + static_cast<int>(threadIdx.x);
      const Site hole{67108864.0f, 0.5f, 0.5f, 0.0f};  // at no distance 0
      const Site from = k < end ? site_at(v.from, k) : hole, to = k < end ? site_at(v.to, k) : hole;
      double sum = 0, error = 0;
      for (int tile = item / groups; tile < tiles; tile += slices) {
        const int place = tile * kTile + static_cast<int>(threadIdx.x);
        __syncthreads();
        before[threadIdx.x] = place < moves ? site_at(v.from, v.moves[place]) : hole;
        after[threadIdx.x] = place < moves ? site_at(v.to, v.moves[place]) : hole;
        __syncthreads();
        const int here = min(kTile, moves - tile * kTile);
        if constexpr (B == Space::cell && Single) {
          for (int f = 0; f < here; f += kChunk)
            add_chunk(from, to, before + f, after + f, sum, error);
        } else {
#pragma unroll 2
          for (int f = 0; f < here; ++f) sum += pair(from, to, before[f], after[f]);
        }
      }
      if (k >= end) continue;
      atomicAdd(v.change + k, sum);
      if constexpr (B == Space::cell && Single) atomicAdd(v.error + k, 0x1p-20 * v.quanta * error);
    }
  }

  // Some moves in float32, and 2^20 times a bound of the error: differences of coordinates are
  // exact, the square has three roundings, the root is good to 2^-22.9, and the sums of four and of
  // kChunk terms add less than (3 + kChunk) 2^-24.
  static constexpr int kChunk = 8;
  __device__ void add_chunk(const Site& from, const Site& to, const Site* before, const Site* after,
                            double& sum, double& error) const {
    float part = 0, size = 0;
#pragma unroll
    for (int f = 0; f < kChunk; ++f) {
      const Site a = before[f], b = after[f];
      const auto inverse = [](const Site& p, const Site& q) {
        const float x = p.x - q.x, y = p.y - q.y, z = p.z - q.z;
        return inverse_root_single(fused(z, z, fused(y, y, x * x)));
      };
      const float p0 = inverse(to, b), p1 = inverse(from, b), p2 = inverse(to, a),
                  p3 = inverse(from, a);
      part = fused(a.charge, (p0 - p1) - (p2 - p3), part);
      size = fused(abs_of(a.charge), (p0 + p1) + (p2 + p3), size);
    }
    sum += part;
    error += size;
  }

  __device__ void run(int begin, int end) const {
    TreeTally tally{};
    for (int batch = begin; batch < end; batch += v.batch) {
      const int stop = min(end, batch + v.batch);
      for (int k = batch + thread; k < stop; k += threads) {
        const int i = v.order[k];
        v.accepted[k] = false;
        if (guess(k, i, site_at(v.to, k))) set(k, i, true, 0);
      }
      grid.sync();
      int list = 0, decided = batch;
      do settle(batch, stop, decided, list);
      while (!verify(batch, stop, decided, list, tally));
      commit(batch, stop, tally);
      if (thread == 0) {
        v.count[0] = v.count[1] = v.count[2] = v.count[kUnknown] = 0;
        v.count[kWrong] = 0xffffffffu;
      }
      grid.sync();
      follow_moves(stop, end);
      grid.sync();
      if (thread == 0) v.count[kMoves] = 0;
    }
    if (tally.accepted + tally.direct == 0) return;
    atomicAdd(&v.tally->accepted, tally.accepted);
    atomicAdd(&v.tally->direct, tally.direct);
    atomicAdd(&v.tally->low, tally.low);
    atomicAdd(reinterpret_cast<unsigned long long*>(&v.tally->high),
              static_cast<unsigned long long>(tally.high));
  }
};

template <Space B, bool Single>
__global__ void __launch_bounds__(kTreeThreads, B == Space::ewald ? 2 : 3)
    epoch_kernel(const __grid_constant__ Rules r, const __grid_constant__ TreeView v,
                 const float4* trial, int begin, int end) {
  Epoch<B, Single>{r, v, r.rest, trial}.run(begin, end);
}

// The charges of the epoch's accepted moves go with them. A block per move.
__global__ void __launch_bounds__(kSpreadThreads)
    follow_mesh_kernel(const __grid_constant__ Mesh m, TreeView v) {
  const unsigned moves = v.count[kEpochMoves];
  for (unsigned e = blockIdx.x; e < moves; e += gridDim.x) {
    const int k = v.epoch_moves[e];
    spread(m, v.from[k], -1);
    spread(m, v.to[k], 1);
  }
}

}  // namespace
}  // namespace manymove::coulomb
