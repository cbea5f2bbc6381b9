// SPDX-License-Identifier: BSD-3-Clause
// All steps between two builds of lists in one kernel, for few particles in mixed precision. Each
// block has the particles of a tile. The pairs of their lists, and the particles of other blocks
// that occur in these, stay in shared memory; in each step the blocks meet at a barrier and read
// the new places of the others. Sums of forces are made of integers, so that the bits are those of
// step_kernel.
#pragma once

#include "step_kernels.cuh"

namespace manymove::dpd {

// The barrier of all blocks. Since the value `base`, the lower bits of `arrived` count arrivals,
// and the upper ones those of blocks that want to stop: one number for even steps and one for odd
// ones, because a block may arrive at the next step while others still look at this one.
struct Meeting {
  static constexpr int kArrivals = 40, kStops = 12;
  unsigned long long arrived, base;

  // What the threads of a block have written before they met, those blocks see that see its
  // arrival.
  __device__ void arrive(int step, bool stop) {
    const unsigned long long more = (stop ? 1ull << shift(step) : 0ull) + 1ull;
    asm volatile("red.release.gpu.global.add.u64 [%0], %1;" ::"l"(&arrived), "l"(more) : "memory");
  }
  __device__ unsigned long long look() const {
    unsigned long long now;
    asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(now) : "l"(&arrived) : "memory");
    return now;
  }
  static __device__ unsigned long long arrivals(unsigned long long since) {
    return since & ((1ull << kArrivals) - 1);
  }
  static __device__ int shift(int step) { return kArrivals + (step & 1) * kStops; }
  static __device__ bool stops(unsigned long long since, int step) {
    return since >> shift(step) & ((1ull << kStops) - 1);
  }
};
constexpr int kMostMeeting = (1 << Meeting::kStops) - 1;  // blocks

struct Interval {
  Step<Mixed> step;              // the first one
  Mixed::Position* position[2];  // of the first step and of the next one, in turn
  Mixed::Velocity* velocity[2];
  Short* shorts[2];
  int steps;                 // at most
  std::uint64_t seed, draw;  // of the first step
  Meeting* meeting;
  int ghosts, pairs;  // for which there is room in shared memory
};

constexpr int kOwnBytes = sizeof(Mixed::Position) + sizeof(Mixed::Velocity),
              kGhostBytes = kOwnBytes + sizeof(unsigned);

// Slots of the table in which a block looks up its ghosts; it lies where their positions will be.
MM_HD int ghost_slots(int ghosts) {
  int slots = 512;
  while (slots < 2 * ghosts) slots *= 2;
  return slots;
}

constexpr int kIntervalThreads = 512, kIntervalBlocks = 2;  // of a block, of a multiprocessor

// A template, so that it is compiled only where an engine uses it: in mixed precision.
template <class Precision>
__global__ void __launch_bounds__(kIntervalThreads, kIntervalBlocks)
    interval_kernel(const __grid_constant__ Interval a) {
  using P = Mixed;
  static_assert(std::is_same_v<P, Precision>);
  constexpr int threads = kIntervalThreads, kWarps = threads / 32, kKeys = 64;
  constexpr unsigned kNone = ~0u;
  extern __shared__ __align__(16) char interval_memory[];
  __shared__ BlockForces block;
  __shared__ unsigned queues[kWarps][64];
  __shared__ uint3 keys[kKeys];  // of noise
  __shared__ int inside, across, ghosts, overfull;
  __shared__ unsigned long long seen;
  const Step<P>& s = a.step;
  if (stale(s.watch, s.number)) return;
  const int tile = s.lists.tile, thread = static_cast<int>(threadIdx.x), lane = thread % 32;
  const unsigned below = (1u << lane) - 1u;
  auto* const position = reinterpret_cast<P::Position*>(interval_memory);
  auto* const velocity = reinterpret_cast<P::Velocity*>(position + tile + a.ghosts);
  auto* const pair = reinterpret_cast<unsigned*>(velocity + tile + a.ghosts);
  unsigned* const ghost = pair + a.pairs;
  unsigned* const table = reinterpret_cast<unsigned*>(position + tile);
  const unsigned slots = static_cast<unsigned>(ghost_slots(a.ghosts));
  const int first = static_cast<int>(blockIdx.x) * tile, i = first + thread;
  const bool mine = thread < tile && i < s.count;

  // ---- the pairs of the block ----

  const unsigned long long base = *static_cast<volatile unsigned long long*>(&a.meeting->base);
  P::Position r{};
  P::Velocity v{};
  Ball ball{};
  if (mine) {
    position[thread] = r = a.position[0][i];
    velocity[thread] = v = a.velocity[0][i];
    ball = s.ball[i];
  }
  const auto find_keys = [&](int step) {
    if (thread >= kKeys) return;
    const NoiseKey key = noise_key(a.seed, a.draw + static_cast<unsigned>(step + thread));
    keys[thread] = {key.round[0], key.mask[0], key.mask[1]};
  };
  find_keys(0);
  for (int k = thread; k < kThreads; k += threads)
    for (Triplets* t : {&block.units, &block.many}) t->x[k] = t->y[k] = t->z[k] = 0;
  for (unsigned k = threadIdx.x; k < slots; k += threads) table[k] = kNone;
  if (thread == 0) inside = across = ghosts = overfull = 0;
  __syncthreads();
  {
    const int its = thread % tile, apart = threads / tile;
    const int number = first + its < s.count ? s.lists.number[first + its] : 0;
    const uint4* list = reinterpret_cast<const uint4*>(s.lists.entry) + first + its;
    const auto stride = static_cast<std::size_t>(static_cast<unsigned>(s.lists.stride));
    for (int group = thread / tile; __any_sync(kWarp, kGroup * group < number); group += apart) {
      uint4 four{};
      if (kGroup * group < number) four = list[static_cast<unsigned>(group) * stride];
      const unsigned entry[kGroup] = {four.x, four.y, four.z, four.w};
#pragma unroll
      for (int q = 0; q < kGroup; ++q) {
        const bool there = kGroup * group + q < number;
        unsigned local = entry[q] - static_cast<unsigned>(first);
        const bool within = there && local < static_cast<unsigned>(tile), beyond = there && !within;
        if (beyond) {
          unsigned slot = entry[q] * 0x9E3779B1u >> 7 & (slots - 1), left = slots;
          for (; left > 0; --left, slot = (slot + 1) & (slots - 1)) {
            const unsigned key = atomicCAS(&table[slot], kNone, entry[q]);
            if (key == kNone || key == entry[q]) break;
          }
          if (left == 0) overfull = 1;
          local = slot;
        }
        const unsigned in = __ballot_sync(kWarp, within), out = __ballot_sync(kWarp, beyond);
        int at_in = 0, at_out = 0;
        if (lane == 0) {
          at_in = atomicAdd(&inside, __popc(in));
          at_out = atomicAdd(&across, __popc(out));
        }
        at_in = __shfl_sync(kWarp, at_in, 0) + __popc(in & below);
        at_out = a.pairs - 1 - (__shfl_sync(kWarp, at_out, 0) + __popc(out & below));
        const int at = within ? at_in : at_out;
        if (there && at >= 0 && at < a.pairs) pair[at] = static_cast<unsigned>(its) << 16 | local;
      }
    }
  }
  __syncthreads();
  for (unsigned k = threadIdx.x; k < slots; k += threads) {
    const unsigned j = table[k];
    if (j == kNone) continue;
    const int g = atomicAdd(&ghosts, 1);
    if (g < a.ghosts) ghost[g] = j;
    table[k] = static_cast<unsigned>(tile + g);
  }
  __syncthreads();
  const int in_tile = inside, from_others = across, others = ghosts;
  const bool refused = overfull || others > a.ghosts || in_tile + from_others > a.pairs;
  unsigned* const beyond_tile = pair + a.pairs - from_others;
  if (!refused)
    for (int k = thread; k < from_others; k += threads) {
      const unsigned word = beyond_tile[k];
      beyond_tile[k] = (word & 0xffff0000u) | table[word & 0xffffu];
    }

  // ---- steps ----

  Forces<P> forces = s.forces;
  const float limit = s.forces.cutoff_squared * 1.00001f;
  unsigned* const queue = queues[thread / 32];
  int queued = 0;
  const auto compute = [&](unsigned word) {
    const unsigned its = word >> 16, j = word & 0xffffu;
    Sum<float> sum;
    add_pair<P, Fast, true, false>(sum, forces, position[its], velocity[its], position[j],
                                   velocity[j], 0);
    int3 units = {0, 0, 0};
    give(block, units, its, j, static_cast<unsigned>(tile), sum.force.x, sum.force.y, sum.force.z);
    block.units.add(static_cast<int>(its), units.x, units.y, units.z);
  };
  // Pairs within the cutoff are computed by whole warps.
  const auto look_at = [&](const unsigned* pairs, int number) {
    for (int begin = thread - lane; begin < number; begin += threads) {
      unsigned word = 0;
      bool near = false;
      if (begin + lane < number) {
        word = pairs[begin + lane];
        const Vector<float> d =
            separation<true>(forces.frame, position[word >> 16], position[word & 0xffffu]);
        near = dot(d, d) < limit;
      }
      const unsigned vote = __ballot_sync(kWarp, near);
      if (near) queue[queued + __popc(vote & below)] = word;
      queued += __popc(vote);
      if (queued < 32) continue;
      queued -= 32;
      __syncwarp();
      word = queue[queued + lane];
      __syncwarp();
      compute(word);
    }
  };
  bool stop = refused;
  unsigned long long target = 0;
  int k = 0;
  for (;; ++k) {
    // The block's particles of this step can be read, and its pairs are known.
    if (k > 0 && k % kKeys == 0) find_keys(k);
    stop = __syncthreads_or(stop);
    if (k == a.steps) break;
    if (thread == 0) a.meeting->arrive(k, stop);
    const uint3 key = keys[k % kKeys];
    const std::uint32_t words[4] = {key.x, key.y, key.z, 0};
    forces.noise = key_of_words(words);
    if (!stop) look_at(pair, in_tile);
    if (thread == 0) {
      target += gridDim.x;
      unsigned long long now;
      do {
        now = a.meeting->look();
      } while (Meeting::arrivals(now - base) < target);
      seen = now;
    }
    __syncthreads();
    if (Meeting::stops(seen - base, k)) {
      // Nothing is done, and the host takes these steps one by one. This is said only after all
      // blocks have met: a block that starts late must not take the lists for expired and leave.
      if (refused && thread == 0) {
        atomicMin(&s.watch.control->expired, s.number);
        s.watch.report->overfull = 1;
      }
      break;
    }
    const int here = k & 1;
    for (int g = thread; g < others; g += threads) {
      const unsigned j = ghost[g];
      const uint4 p = __ldcg(reinterpret_cast<const uint4*>(a.position[here]) + j);
      const float4 w = __ldcg(reinterpret_cast<const float4*>(a.velocity[here]) + j);
      position[tile + g] = {p.x, p.y, p.z, p.w};
      velocity[tile + g] = {w.x, w.y, w.z, __float_as_uint(w.w)};
    }
    __syncthreads();
    look_at(beyond_tile, from_others);
    __syncwarp();
    if (lane < queued) compute(queue[lane]);
    queued = 0;
    __syncthreads();
    stop = false;
    if (mine) {
      const auto both = [&](int& units, int& many) {
        const float force = s.unit * __fmaf_rn(BlockForces::kMany, static_cast<float>(many),
                                               static_cast<float>(units));
        units = many = 0;
        return force;
      };
      const Vector<float> force = {both(block.units.x[thread], block.many.x[thread]),
                                   both(block.units.y[thread], block.many.y[thread]),
                                   both(block.units.z[thread], block.many.z[thread])};
      kick<false>(s.motion, r, v, force);
      kick<false>(s.motion, r, v, force);
      stop = move<false>(s, i, r, v, ball, s.number + k + 1);
      position[thread] = r;
      velocity[thread] = v;
      a.position[here ^ 1][i] = r;
      a.velocity[here ^ 1][i] = v;
      a.shorts[here ^ 1][i] = short_of(s.shorts, high_word(r.x), high_word(r.y), high_word(r.z));
    }
  }
  // The host learns of the steps at the end: a release waits for what was written to its memory.
  if (blockIdx.x == 0 && thread == 0) {
    a.meeting->base = seen;
    if (k > 0) s.watch.report->started = s.number + k - 1;
  }
}

}  // namespace manymove::dpd
