// SPDX-License-Identifier: BSD-3-Clause
// Decisions of the method "tree" on a GPU (docs/theory/coulomb.md, section 8): an epoch is one
// cooperative kernel, which takes its trials in batches. Within a batch all decisions are guessed,
// what the guesses change for later trials is added, and what follows from that is guessed again,
// until nothing changes: then each decision is the one that those before it entail.
//
// Why the result is the sequential chain: when no guess changes any more, each is what the
// estimates entail given all guesses before it, so the first is right, and by induction all are. A
// trial that the error's bound leaves open gets its direct sum under the same guesses; the first
// one that disagrees is corrected, which makes it and all before it final, so that each pass
// decides at least one trial more. A move changes few of the later decisions of a batch, so few
// rounds are needed.
//
// On several devices, each decides the batches dealt to it, with one launch per batch, and receives
// which trials of the other batches were accepted.
#pragma once

#include <cooperative_groups.h>

#include <climits>

#include "tree_trials.cuh"

namespace manymove::coulomb {
namespace {

constexpr int kTreeThreads = 256;

// What a kernel does with batches.
enum class Step { decide, move, both };

// What others may have written in this kernel.
template <class T>
__device__ T fresh(const T* p) {
  return *static_cast<const volatile T*>(p);
}

template <Space B>
struct Epoch {
  // Whether pairs within an epoch are computed in float32.
  static constexpr bool kSingle = B == Space::cell;

  const Rules& r;
  const TreeArrays& v;
  const SmoothRest<double>& rest;
  const cooperative_groups::grid_group grid = cooperative_groups::this_grid();
  const int thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
  const int lane = threadIdx.x % 32;

  // What the move of ion j, with its charge z_j, from `before` to `after` adds to the change of the
  // potential of trial i from `from` to `to`: equation 2 for i > j in place of i < j,
  // z_j [psi(to - after) - psi(from - after) - psi(to - before) + psi(from - before)].
  __device__ double pair(const Site& from, const Site& to, const Site& before,
                         const Site& after) const {
    const Separation<double> d[4] = {separation<B>(r, to, after), separation<B>(r, from, after),
                                     separation<B>(r, to, before), separation<B>(r, from, before)};
    double p[4];
    for (int n = 0; n < 4; n += 2) {  // two at a time, as many as registers hold
      const Separation<double> two[2] = {d[n], d[n + 1]};
      double q[2];
      unit_potentials<B>(r, rest, two, q);
      p[n] = q[0];
      p[n + 1] = q[1];
    }
    return before.charge * ((p[0] - p[1]) - (p[2] - p[3]));
  }

  // The same in float32, and 2^20 times a bound of its error: differences of coordinates are exact,
  // the square has three roundings, the root is good to 2^-22.9, and the sum of four adds less than
  // three roundings. The bound has room for sums of kChunk such terms.
  static constexpr int kChunk = 8;
  __device__ static float pair_single(const Site& from, const Site& to, const Site& before,
                                      const Site& after, float sum, float& size) {
    const auto inverse = [](const Site& p, const Site& q) {
      const float x = p.x - q.x, y = p.y - q.y, z = p.z - q.z;
      return inverse_root_single(fused(z, z, fused(y, y, x * x)));
    };
    // z_j [1 / |to_i - to_j| - 1 / |from_i - to_j| - 1 / |to_i - from_j| + 1 / |from_i - from_j|].
    const float p0 = inverse(to, after), p1 = inverse(from, after), p2 = inverse(to, before),
                p3 = inverse(from, before);
    size = fused(abs_of(before.charge), (p0 + p1) + (p2 + p3), size);
    return fused(before.charge, (p0 - p1) - (p2 - p3), sum);
  }

  __device__ bool in_vacuum() const {
    if constexpr (B == Space::ewald) return r.vacuum != 0;
    return false;
  }
  // What a vacuum around adds to the change of a trial's potential at its turn.
  __device__ std::int64_t from_vacuum(int k, float charge) const {
    return in_vacuum() ? dipole_term(r, charge, *v.chain.dipole + v.earlier[k], v.gain[k]) : 0;
  }
  // By a warp: adds the gains of the changed trials before trial k.
  __device__ void add_gains(int k, const std::int32_t* flipped, int changed) const {
    Dipole sum{0, 0, 0};
    for (int f = lane; f < changed; f += 32) {
      const int entry = flipped[f], l = entry >> 1;
      if (l >= k) continue;
      const Dipole gain = v.gain[l];
      const double sign = entry & 1 ? 1 : -1;
      sum = sum + Dipole{sign * gain.x, sign * gain.y, sign * gain.z};
    }
    sum = {warp_sum(sum.x), warp_sum(sum.y), warp_sum(sum.z)};
    if (lane == 0) v.earlier[k] = v.earlier[k] + sum;
  }

  // Whether trial k of ion i overlaps at its turn, given the guesses: an ion counts where it was at
  // the start of the sweep unless it has moved, and at its new place if it has.
  __device__ bool blocked(int k, int i, const Site& to) const {
    std::int32_t at = v.conflict[k];
    if (at == kFree) return false;
    if (at != kSearch) {
      for (std::int32_t entry; (entry = v.conflicts[at]) >= 0; ++at)
        if (static_cast<bool>(fresh(v.moved + entry / 2)) == (entry % 2 == 1)) return true;
      return false;
    }
    const auto now = [&](int j) { return v.chain.site[j]; };
    const auto then = [&](int j) { return site_of(v.chain.trial[j], 0); };
    // An ion that has moved in this sweep is found among the new places.
    return overlaps(r, v.chain.lists(), now, v.chain.radius, i, to,
                    [&](int j) { return !fresh(v.moved + j); }) ||
           overlaps(r, v.new_lists(), then, v.chain.radius, i, to,
                    [&](int j) { return j < i && fresh(v.moved + j); });
  }
  // What is guessed of trial k: for the trials of its batch, and for overlaps with its ion i.
  __device__ void set(int k, int i, bool accept) const {
    v.accepted[k] = accept;
    v.moved[i] = accept;
  }
  // The same for a guess that changes, which the next round takes from the list.
  __device__ void flip(int k, int i, bool accept, int list) const {
    set(k, i, accept);
    v.flipped[list][atomicAdd(v.count + kFlipped + list, 1u)] = 2 * k + accept;
  }
  // A trial, its estimate and what is guessed.
  struct Guess {
    Site from, to;
    double change, error;
    std::int64_t limit;
    std::int32_t ion;
    bool accepted;
  };
  __device__ Guess guess_at(int k) const {
    return {site_at(v.from, k), site_at(v.to, k), v.change[k],       v.error[k],
            v.limit[k],         v.chain.order[k], v.accepted[k] != 0};
  }
  // What follows for a trial from its estimate as it is.
  __device__ void guess(int k, const Guess& g, int list) const {
    const float charge = g.to.charge;
    const double change = g.change * v.quanta + static_cast<double>(from_vacuum(k, charge));
    bool accept = (charge > 0 ? change : -change) < static_cast<double>(g.limit);
    bool open = verdict(change, g.error, g.limit, charge) == Verdict::unknown;
    if ((accept || open) && blocked(k, g.ion, g.to)) accept = open = false;
    if (accept != g.accepted) flip(k, g.ion, accept, list);
    if (!open) return;
    const unsigned u = atomicAdd(v.count + kOpen + list, 1u);
    v.open[list][u] = k;
    v.exact[u] = 0;
  }

  // Guesses of the trials from `decided` on, until nothing changes; `list` holds the last changes.
  // A round: a warp per trial sums what the changed guesses before it add or take back, corrects
  // the estimate, and guesses again. Lists are used in turn, so that one barrier per round is
  // enough: one is read, one is filled, and one is emptied for the next round.
  __device__ void settle(int begin, int end, int decided, int& list) const {
    for (;;) {
      // First what does not depend on the number of changes, to wait for all of it at a time
      int k = begin + thread / 32;
      Guess g{};
      if (k < end) g = guess_at(k);
      // The first 32 entries and their number at once, without waiting for one to read the other.
      const int early = fresh(v.flipped[list] + lane);
      const int changed = static_cast<int>(fresh(v.count + kFlipped + list));
      if (changed == 0) return;
      // Three lists in turn: `list` is read, `next` is written, and `last`, which no block reads
      // any more, is emptied for the round after; so one barrier per round is enough.
      const int next = (list + 1) % 3, last = (list + 2) % 3;
      if (thread == 0) v.count[kFlipped + last] = v.count[kOpen + last] = 0;
      for (bool first = true; k < end; k += threads / 32, first = false) {
        if (!first) g = guess_at(k);
        double sum = 0, error = 0;
        for (int f = lane; f < changed; f += 32) {
          // An entry is 2 k + (accepted now); only moves before trial k change its potential.
          const int entry = f < 32 ? early : v.flipped[list][f], l = entry >> 1;
          if (l >= k) continue;
          const Site before = site_at(v.from, l), after = site_at(v.to, l);
          double gain;
          if constexpr (kSingle) {
            float size = 0;
            // A guess that became `accepted` adds the move's change, one that was taken back
            // subtracts it.
            gain = pair_single(g.from, g.to, before, after, 0, size);
            error += size;
          } else {
            gain = pair(g.from, g.to, before, after);
          }
          sum += entry & 1 ? gain : -gain;
        }
        sum = warp_sum(sum);
        if constexpr (kSingle) error = warp_sum(error);
        if (in_vacuum()) add_gains(k, v.flipped[list], changed);
        if (lane != 0) continue;
        v.change[k] = g.change += sum;
        if constexpr (kSingle) v.error[k] = g.error += 0x1p-20 * v.quanta * error;
        // Decided trials keep their guess; their estimates are corrected for the energies.
        if (k >= decided) guess(k, g, next);
      }
      list = next;
      // All blocks have guessed: the list of changed guesses is complete.
      grid.sync();
    }
  }

  // The brush's sums of the trials that the estimates leave open, as everything stands at their
  // turn. Some at a time, so that ions are read once for them.
  static constexpr int kTogether = kSingle ? 2 : 1;
  __device__ void direct_sums(int begin, int end, int list, int count) const {
    __shared__ Site from[kTogether], to[kTogether];
    __shared__ int place[kTogether], ion[kTogether];
    // Of the block: one atomic to global memory for each sum and block.
    __shared__ unsigned long long total[kTogether];
    for (int first = 0; first < count; first += kTogether) {
      // The sums of the trials before have been taken from shared memory.
      __syncthreads();
      if (threadIdx.x < kTogether) {
        const bool here = first + static_cast<int>(threadIdx.x) < count;
        const int k = here ? v.open[list][first + threadIdx.x] : begin;
        place[threadIdx.x] = here ? k : -1;
        ion[threadIdx.x] = v.chain.order[k];
        from[threadIdx.x] = site_at(v.from, k);
        to[threadIdx.x] = site_at(v.to, k);
        total[threadIdx.x] = 0;
      }
      // Places and partners of these trials are there for the block.
      __syncthreads();
      std::int64_t sum[kTogether] = {};
      const auto term = [&](int u, const Site& at) {
        const Pairs<true, B> pairs(r, rest, from[u], to[u]);
        const Partner<true> g = as_partner<true>(at);
        return pairs.change(g, pairs.to(g));
      };
      for (int j = thread; j < v.chain.ions; j += threads) {
        const Site at = site_at(v.chain.site, j);
#pragma unroll
        for (int u = 0; u < kTogether; ++u)
          if (place[u] >= 0 && j != ion[u]) sum[u] = wrapping_sum(sum[u], term(u, at));
      }
      // The ions of the batch are in the sum where they were at its beginning; those of accepted
      // trials are moved here.
      for (int l = begin + thread; l < end; l += threads) {
        if (!v.accepted[l]) continue;
        const Site before = site_at(v.from, l), after = site_at(v.to, l);
#pragma unroll
        for (int u = 0; u < kTogether; ++u)
          if (l < place[u])
            sum[u] = wrapping_sum(sum[u], wrapping_difference(term(u, after), term(u, before)));
      }
#pragma unroll
      for (int u = 0; u < kTogether; ++u) {
        if (place[u] < 0) continue;
        sum[u] = warp_sum_wrapping(sum[u]);
        if (lane == 0 && sum[u] != 0) atomicAdd(total + u, static_cast<unsigned long long>(sum[u]));
      }
      // The block's sum has those of all warps.
      __syncthreads();
      if (threadIdx.x < kTogether && total[threadIdx.x] != 0)
        atomicAdd(v.exact + first + threadIdx.x, total[threadIdx.x]);
    }
  }
  // The first of them whose guess does not hold, or a number beyond all. All threads of a block.
  __device__ int first_wrong(int list, int count) const {
    __shared__ int first;
    if (threadIdx.x == 0) first = INT_MAX;
    __syncthreads();
    for (int u = threadIdx.x; u < count; u += kTreeThreads) {
      const int k = v.open[list][u];
      const float charge = v.from[k].charge;
      const std::int64_t change =
          wrapping_sum(static_cast<std::int64_t>(v.exact[u]), from_vacuum(k, charge));
      // Equation 1 with the brush's integer sum.
      if (accepts(change, v.limit[k], charge) != static_cast<bool>(v.accepted[k]))
        atomicMin(&first, k);
    }
    __syncthreads();
    return first;
  }

  // Sets right the first guess that does not hold, which decides it and all before it, and returns
  // whether there was one.
  __device__ bool correct(int begin, int end, int& decided, int& list, int count,
                          MoveCounts& counts) const {
    direct_sums(begin, end, list, count);
    grid.sync();
    if (thread == 0) counts.direct += count;
    const int k = first_wrong(list, count);
    if (k == INT_MAX) return false;
    // Energies of those that are decided now take the sums; an estimate may be undefined.
    for (int u = thread; u < count; u += threads)
      if (const int open = v.open[list][u]; open <= k)
        v.change[open] = static_cast<double>(static_cast<std::int64_t>(v.exact[u])) / v.quanta;
    grid.sync();
    list = 0;
    if (thread == 0) {
      for (int c = kFlipped; c < kCounts; ++c) v.count[c] = 0;
      flip(k, v.chain.order[k], !v.accepted[k], list);
    }
    decided = k + 1;
    grid.sync();
    return true;
  }

  // Counts the accepted trials of a batch and their energies: the direct sums of those that have
  // them, estimates otherwise.
  __device__ void add_energies(int begin, int end, int list, int count, MoveCounts& counts) const {
    for (int k = begin + thread; k < end; k += threads) {
      if (!v.accepted[k]) continue;
      const float charge = v.to[k].charge;
      double change = v.change[k] * v.quanta;
      for (int u = 0; u < count; ++u)
        if (v.open[list][u] == k)
          change = static_cast<double>(static_cast<std::int64_t>(v.exact[u]));
      change += static_cast<double>(from_vacuum(k, charge));
      counts.add_accepted(nearest_integer(static_cast<double>(charge) * change));
    }
  }

  // Accepted trials take effect. Returns what they add to the dipole moment.
  __device__ Dipole commit(int begin, int end) const {
    Dipole sum{0, 0, 0};
    for (int k = begin + thread; k < end; k += threads) {
      if (!v.accepted[k]) continue;
      const Site to = site_at(v.to, k);
      const int i = v.chain.order[k];
      v.chain.site[i] = to;
      v.moved[i] = 1;
      if (!in_vacuum()) continue;
      follow(r, site_at(v.from, k), to, v.chain.image + 3 * static_cast<std::size_t>(i));
      sum = sum + v.gain[k];
    }
    return sum;
  }

  // What the moves of a batch change for this device's trials behind it: 256 of these and 8 trials
  // of the batch at a time, of which each block has an equal number in a row.
  static constexpr int kMostMoves = 128, kTogetherMost = kMostMoves / kChunk;
  __device__ void add_moves(int first, int begin) const {
    // Up to 128 moves, and holes that fill the last chunk.
    __shared__ Site before[kMostMoves + kChunk], after[kMostMoves + kChunk];
    __shared__ int found[kMostMoves / 32];
    const int end = v.deal.end, batch = begin - first, parts = (batch + kChunk - 1) / kChunk;
    const std::int64_t all =
        static_cast<std::int64_t>(v.deal.trials(begin) + kTreeThreads - 1) / kTreeThreads * parts;
    const std::int64_t stop = all * (blockIdx.x + 1) / gridDim.x;
    double sum = 0, error = 0;
    for (std::int64_t at = all * blockIdx.x / gridDim.x; at < stop;) {
      const int group = static_cast<int>(at / parts), part = static_cast<int>(at % parts);
      const int some = static_cast<int>(
          min(stop - at, static_cast<std::int64_t>(min(parts - part, kTogetherMost))));
      const int k = v.deal.place(begin, group * kTreeThreads + static_cast<int>(threadIdx.x));
      const Site from = k < end ? site_at(v.from, k) : hole(),
                 to = k < end ? site_at(v.to, k) : hole();
      // The moves among the trials of the batch, side by side
      const int place = part * kChunk + static_cast<int>(threadIdx.x);
      const bool moves = static_cast<int>(threadIdx.x) < some * kChunk && place < batch &&
                         fresh(v.accepted + first + place);
      const unsigned here = __ballot_sync(kWholeWarp, moves);
      // The moves of the last part have been added, and `found` has been read.
      __syncthreads();
      if (lane == 0 && threadIdx.x < kMostMoves) found[threadIdx.x / 32] = __popc(here);
      // Numbers of moves of all warps.
      __syncthreads();
      // Behind the moves of lower warps and lanes: their order is that of the trials.
      int count = 0, to_place = lanes_before(here, lane);
#pragma unroll
      for (int w = 0; w < kMostMoves / 32; ++w) {
        if (w < static_cast<int>(threadIdx.x) / 32) to_place += found[w];
        count += found[w];
      }
      if (moves) {
        before[to_place] = site_at(v.from, first + place);
        after[to_place] = site_at(v.to, first + place);
      }
      // Holes, which add nothing, fill the last chunk.
      if (threadIdx.x < kChunk) before[count + threadIdx.x] = after[count + threadIdx.x] = hole();
      __syncthreads();
      if constexpr (kSingle) {
        for (int f = 0; f < count; f += kChunk)
          add_chunk(from, to, before + f, after + f, kChunk, sum, error);
      } else {
#pragma unroll 2
        for (int f = 0; f < count; ++f) sum += pair(from, to, before[f], after[f]);
      }
      at += some;
      if (at < stop && part + some < parts) continue;
      // Several blocks may have parts of one trial's sum.
      if (k < end) add(v.change + k, v.error + k, sum, error);
      sum = error = 0;
    }
  }
  // What the trials of a batch that are accepted, by their estimates at the start of the epoch or
  // after the batch before, change for those behind them: 256 of these and 8 earlier trials at a
  // time, of which each block has an equal number in a row. It notes the guesses of those 8 if they
  // are among the 256. Which trials overlap is left to the next guesses.
  __device__ void add_within(int first, int end) const {
    constexpr int kParts = kTreeThreads / kChunk;  // of 256 trials
    __shared__ Site before[kMostMoves], after[kMostMoves];
    const int groups = (end - first + kTreeThreads - 1) / kTreeThreads;
    // Group g needs the parts 0 to kParts (g + 1) - 1, those before it and its own: a triangle.
    const int all = kParts * groups * (groups + 1) / 2;
    const auto share = [&](unsigned block) {
      return static_cast<int>(static_cast<std::int64_t>(all) * block / gridDim.x);
    };
    const int stop = share(blockIdx.x + 1);
    // The share's first item as a group and a part of it.
    int group = 0, part = share(blockIdx.x);
    for (; part >= kParts * (group + 1); ++group) part -= kParts * (group + 1);
    double sum = 0, error = 0;
    for (int at = share(blockIdx.x); at < stop;) {
      const int some = min(stop - at, min(kParts * (group + 1) - part, kTogetherMost));
      const int k = first + group * kTreeThreads + static_cast<int>(threadIdx.x),
                begin = first + part * kChunk;
      const Site from = k < end ? site_at(v.from, k) : hole(),
                 to = k < end ? site_at(v.to, k) : hole();
      // The moves of the last part have been added.
      __syncthreads();
      if (static_cast<int>(threadIdx.x) < some * kChunk) {
        const int l = begin + static_cast<int>(threadIdx.x);
        bool accepted = false;
        before[threadIdx.x] = after[threadIdx.x] = hole();
        if (l < end) {
          const Site here = site_at(v.from, l);
          const double change = v.change[l] * v.quanta;
          accepted = (here.charge > 0 ? change : -change) < static_cast<double>(v.limit[l]);
          if (accepted) {
            before[threadIdx.x] = here;
            after[threadIdx.x] = site_at(v.to, l);
          }
          if ((l - first) / kTreeThreads == group) set(l, v.chain.order[l], accepted);
        }
      }
      // All threads read each move.
      __syncthreads();
      for (int f = 0; f < some * kChunk; f += kChunk)
        add_chunk(from, to, before + f, after + f, k - begin - f, sum, error);
      at += some;
      part += some;
      const bool last = part == kParts * (group + 1);
      if (at < stop && !last) continue;
      if (k < end) add(v.from_first + (k - first), v.first_error + (k - first), sum, error);
      sum = error = 0;
      if (last) {
        part = 0;
        ++group;
      }
    }
  }
  __device__ void add(double* change, double* bound, double sum, double error) const {
    atomicAdd(change, sum);
    if constexpr (kSingle) atomicAdd(bound, 0x1p-20 * v.quanta * error);
  }

  // Some moves in float32, the first `count` of kChunk.
  __device__ void add_chunk(const Site& from, const Site& to, const Site* before, const Site* after,
                            int count, double& sum, double& error) const {
    float part = 0, size = 0;
    if (count >= kChunk) {
#pragma unroll
      for (int f = 0; f < kChunk; ++f)
        part = pair_single(from, to, before[f], after[f], part, size);
    } else {
      for (int f = 0; f < count; ++f) part = pair_single(from, to, before[f], after[f], part, size);
    }
    sum += part;
    error += size;
  }

  // Decides the trials of a batch. The first guesses of pairs in float32 take what trials that look
  // accepted change for later ones; otherwise all are taken for rejected before the first round.
  __device__ void decide(int begin, int end, MoveCounts& counts) const {
    int list = 0, decided = begin, open;
    if constexpr (kSingle) {
      add_within(begin, end);
      // Blocks have added to the sums of trials that others guess.
      grid.sync();
      for (int k = begin + thread; k < end; k += threads) {
        Guess g = guess_at(k);
        v.change[k] = g.change += v.from_first[k - begin];
        v.error[k] = g.error += v.first_error[k - begin];
        v.from_first[k - begin] = v.first_error[k - begin] = 0;
        guess(k, g, list);
      }
    } else {
      for (int k = begin + thread; k < end; k += threads) {
        v.accepted[k] = false;
        guess(k, guess_at(k), list);
      }
    }
    // Every block begins with the same first guesses.
    grid.sync();
    do {
      settle(begin, end, decided, list);
      open = static_cast<int>(fresh(v.count + kOpen + list));
    } while (open > 0 && correct(begin, end, decided, list, open, counts));
    add_energies(begin, end, list, open, counts);
  }

  // Makes the moves of a batch that is decided.
  __device__ void make_moves(int begin, int end) const {
    const Dipole gained = commit(begin, end);
    // All blocks have read these, or nothing but 0.
    if (thread < kCounts) v.count[thread] = 0;
    if (in_vacuum()) {
      grid.sync();
      if (gained.x != 0 || gained.y != 0 || gained.z != 0) {
        atomicAdd(&v.chain.dipole->x, gained.x);
        atomicAdd(&v.chain.dipole->y, gained.y);
        atomicAdd(&v.chain.dipole->z, gained.z);
      }
    }
    add_moves(begin, end);
    // Trials behind the batch have its moves in their estimates.
    grid.sync();
  }

  // An epoch, or the part of it that one device decides or all devices move.
  __device__ void run(Step step, int begin, int end) const {
    MoveCounts counts{};
    for (int batch = begin; batch < end; batch += v.deal.batch) {
      const int stop = min(end, batch + v.deal.batch);
      if (step != Step::move) decide(batch, stop, counts);
      if (step != Step::decide) make_moves(batch, stop);
    }
    if (counts.accepted + counts.direct == 0) return;
    atomicAdd(&v.chain.counts->accepted, counts.accepted);
    atomicAdd(&v.chain.counts->direct, counts.direct);
    add_energy(v.chain.counts, counts);
  }
};

template <Space B>
__global__ void __launch_bounds__(kTreeThreads, B == Space::ewald ? 2 : 3)
    epoch_kernel(const __grid_constant__ Rules r, const __grid_constant__ TreeArrays v, Step step,
                 int begin, int end) {
  Epoch<B>{r, v, r.rest}.run(step, begin, end);
}

}  // namespace
}  // namespace manymove::coulomb
