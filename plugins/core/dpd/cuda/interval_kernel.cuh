// SPDX-License-Identifier: BSD-3-Clause
// All steps between two builds of lists in one kernel, for few particles in mixed precision. Each
// block has the particles of a tile. The pairs of their lists, and the particles of other blocks
// that occur in these (its ghosts), stay in shared memory; in each step the blocks meet at a
// barrier and read the new positions of the others. Sums of forces are made of integers, so that
// the bits are those of step_kernel.
#pragma once

#include <cuda/atomic>

#include "step_kernels.cuh"

namespace manymove::dpd {

// The barrier of all blocks. Since the value `base`, the lower bits of `arrived` count arrivals,
// and the upper ones those of blocks that want to stop: one number for even steps and one for odd
// ones, because a block may arrive at the next step while others still look at this one.
struct GridBarrier {
  // Bits 0 to 39: arrivals; 40 to 51: blocks that stop in an even step; 52 to 63: in an odd step.
  static constexpr int kArrivals = 40, kStops = 12;
  using Counter = cuda::atomic_ref<unsigned long long, cuda::thread_scope_device>;
  unsigned long long arrived, base;

  // What the threads of a block have written before they met, those blocks see that see its
  // arrival.
  __device__ void arrive(int step, bool stop) {
    const unsigned long long more = (stop ? 1ull << shift(step) : 0ull) + 1ull;
    // Thread 0 after a barrier of the block: the release covers what all of its threads wrote.
    Counter(arrived).fetch_add(more, cuda::memory_order_release);
  }
  // Returns the value after so many arrivals.
  __device__ unsigned long long wait(unsigned long long since_base, unsigned long long arrivals) {
    unsigned long long now;
    do {
      // Acquire: what the blocks wrote before they arrived can be read, past the L1 cache.
      now = Counter(arrived).load(cuda::memory_order_acquire);
    } while (((now - since_base) & ((1ull << kArrivals) - 1)) < arrivals);
    return now;
  }
  static __device__ int shift(int step) { return kArrivals + (step & 1) * kStops; }
  static __device__ bool stops(unsigned long long since, int step) {
    return since >> shift(step) & ((1ull << kStops) - 1);
  }
};
constexpr int kMostBarrierBlocks = (1 << GridBarrier::kStops) - 1;

struct Interval {
  Step<Mixed> step;              // the first one
  Mixed::Position* position[2];  // of the first step and of the next one, in turn
  Mixed::Velocity* velocity[2];
  ShortPosition* shorts[2];
  int steps;                 // at most
  std::uint64_t seed, draw;  // of the first step
  GridBarrier* barrier;
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

// Shared memory of a block.
struct IntervalMemory {
  static constexpr int kWarps = kIntervalThreads / 32, kKeys = 64;
  BlockForces forces;
  unsigned queues[kWarps][64];  // pairs within the cutoff, found by a warp
  uint3 keys[kKeys];            // of the noise of successive steps
  // Pairs within the tile and with ghosts, ghosts, and whether the table is too small.
  int inside, across, ghosts, overfull;
  unsigned long long seen;  // of the barrier
};
// The part whose size the launch chooses. A pair is one word: the index of its particle in the tile
// in the upper half, that of its partner in the tile or behind it, for a ghost, in the lower half.
struct IntervalArrays {
  Mixed::Position* position;  // of the tile, then of ghosts
  Mixed::Velocity* velocity;
  unsigned* pair;   // those within the tile from the front, those with ghosts from the back
  unsigned* ghost;  // their indices
  unsigned* table;  // while pairs are collected: a hash table of ghosts

  __device__ IntervalArrays(char* memory, int tile, int ghosts, int pairs) {
    position = reinterpret_cast<Mixed::Position*>(memory);
    velocity = reinterpret_cast<Mixed::Velocity*>(position + tile + ghosts);
    pair = reinterpret_cast<unsigned*>(velocity + tile + ghosts);
    ghost = pair + pairs;
    table = reinterpret_cast<unsigned*>(position + tile);
  }
};
constexpr unsigned kNoGhost = ~0u;

// The slot of a particle in the hash table, which has a power of two of them; open addressing.
// `overfull` is set if there is no slot left.
__device__ inline unsigned slot_of(unsigned* table, unsigned slots, unsigned particle,
                                   int& overfull) {
  // Multiplicative hashing: the factor is the prime next to 2^32 over the golden ratio.
  unsigned slot = particle * 0x9E3779B1u >> 7 & (slots - 1), left = slots;
  for (; left > 0; --left, slot = (slot + 1) & (slots - 1)) {
    const unsigned key = atomicCAS(&table[slot], kNoGhost, particle);
    if (key == kNoGhost || key == particle) break;
  }
  if (left == 0) overfull = 1;
  return slot;
}

// Reads the lists of the tile and writes its pairs; in those with ghosts, the lower half is the
// slot in the table.
__device__ __forceinline__ void collect_pairs(const Interval& a, IntervalMemory& m,
                                              const IntervalArrays& at, int first, unsigned slots) {
  const Step<Mixed>& s = a.step;
  const int tile = s.lists.tile, thread = static_cast<int>(threadIdx.x), lane = thread % 32;
  const unsigned below = (1u << lane) - 1u;
  // Thread t has particle t % tile and of its list the groups t / tile, t / tile + apart, ...
  const int its = thread % tile, apart = kIntervalThreads / tile;
  const int number = first + its < s.count ? s.lists.number[first + its] : 0;
  const uint4* list = reinterpret_cast<const uint4*>(s.lists.entry) + first + its;
  const auto stride = static_cast<std::size_t>(static_cast<unsigned>(s.lists.stride));
  for (int group = thread / tile; __any_sync(kWholeWarp, kGroup * group < number); group += apart) {
    uint4 four{};
    if (kGroup * group < number) four = list[static_cast<unsigned>(group) * stride];
    const unsigned entry[kGroup] = {four.x, four.y, four.z, four.w};
#pragma unroll
    for (int q = 0; q < kGroup; ++q) {
      const bool there = kGroup * group + q < number;
      unsigned local = entry[q] - static_cast<unsigned>(first);
      const bool within = there && local < static_cast<unsigned>(tile), beyond = there && !within;
      if (beyond) local = slot_of(at.table, slots, entry[q], m.overfull);
      const unsigned in = __ballot_sync(kWholeWarp, within),
                     out = __ballot_sync(kWholeWarp, beyond);
      int at_in = 0, at_out = 0;
      if (lane == 0) {
        at_in = atomicAdd(&m.inside, __popc(in));
        at_out = atomicAdd(&m.across, __popc(out));
      }
      at_in = __shfl_sync(kWholeWarp, at_in, 0) + __popc(in & below);
      // Pairs within the tile grow from the front of the array, those with ghosts from its end.
      at_out = a.pairs - 1 - (__shfl_sync(kWholeWarp, at_out, 0) + __popc(out & below));
      // A word: the particle of the tile in the upper half, its partner in the lower one.
      const int k = within ? at_in : at_out;
      if (there && k >= 0 && k < a.pairs) at.pair[k] = static_cast<unsigned>(its) << 16 | local;
    }
  }
}

// Numbers the ghosts of the table.
__device__ __forceinline__ void number_ghosts(const Interval& a, IntervalMemory& m,
                                              const IntervalArrays& at, unsigned slots) {
  for (unsigned k = threadIdx.x; k < slots; k += kIntervalThreads) {
    const unsigned j = at.table[k];
    if (j == kNoGhost) continue;
    const int g = atomicAdd(&m.ghosts, 1);
    if (g < a.ghosts) at.ghost[g] = j;
    // The slot now holds the ghost's place behind the tile's particles in `position`.
    at.table[k] = static_cast<unsigned>(a.step.lists.tile + g);
  }
}

// The keys of the noise from a step on.
__device__ __forceinline__ void find_keys(const Interval& a, IntervalMemory& m, int step) {
  const int thread = static_cast<int>(threadIdx.x);
  if (thread >= IntervalMemory::kKeys) return;
  const NoiseKey key = noise_key(a.seed, a.draw + static_cast<unsigned>(step + thread));
  // Three words, of which key_of_words() makes the key again.
  m.keys[thread] = {key.round[0], key.mask[0], key.mask[1]};
}

// Pair forces of a block, in a queue for each warp.
struct IntervalPairs {
  IntervalMemory& m;
  const IntervalArrays& at;
  Forces<Mixed> forces;
  int tile;
  float limit;  // of squared distances, with a margin
  unsigned* queue;
  int queued = 0;

  // Eqs. 3 to 5 of the paper for one pair.
  __device__ __forceinline__ void compute(unsigned word) {
    const unsigned its = word >> 16, j = word & 0xffffu;
    Sum<float> sum;
    add_pair<Mixed, FastMath, true, false>(sum, forces, at.position[its], at.velocity[its],
                                           at.position[j], at.velocity[j], 0);
    int3 units = {0, 0, 0};
    give(m.forces, units, its, j, static_cast<unsigned>(tile), sum.force.x, sum.force.y,
         sum.force.z);
    m.forces.units.add(static_cast<int>(its), units.x, units.y, units.z);
  }
  // Finds pairs with r_ij^2 below the limit; as soon as a warp has 32 of them, it computes these.
  __device__ __forceinline__ void look_at(const unsigned* pairs, int number) {
    const int thread = static_cast<int>(threadIdx.x), lane = thread % 32;
    const unsigned below = (1u << lane) - 1u;
    for (int begin = thread - lane; begin < number; begin += kIntervalThreads) {
      unsigned word = 0;
      bool near = false;
      if (begin + lane < number) {
        word = pairs[begin + lane];
        const Vector<float> d =
            separation<true>(forces.frame, at.position[word >> 16], at.position[word & 0xffffu]);
        near = dot(d, d) < limit;
      }
      const unsigned vote = __ballot_sync(kWholeWarp, near);
      if (near) queue[queued + __popc(vote & below)] = word;
      queued += __popc(vote);
      if (queued < 32) continue;
      // The last 32 of the queue: sums of integers have no order.
      queued -= 32;
      // Every lane takes a pair that another one has queued,
      __syncwarp();
      word = queue[queued + lane];
      // and has taken it before the place is filled again.
      __syncwarp();
      compute(word);
    }
  }
  // The pairs that are left.
  __device__ __forceinline__ void finish() {
    __syncwarp();
    const int lane = static_cast<int>(threadIdx.x % 32);
    if (lane < queued) compute(queue[lane]);
    queued = 0;
  }
};

// Positions and velocities of the ghosts in this step, which other blocks have written.
__device__ __forceinline__ void read_ghosts(const Interval& a, const IntervalArrays& at, int here,
                                            int ghosts) {
  const int tile = a.step.lists.tile;
  for (int g = static_cast<int>(threadIdx.x); g < ghosts; g += kIntervalThreads) {
    const unsigned j = at.ghost[g];
    // From the L2 cache, because the L1 cache may hold the positions of two steps before.
    const uint4 p = __ldcg(reinterpret_cast<const uint4*>(a.position[here]) + j);
    const float4 w = __ldcg(reinterpret_cast<const float4*>(a.velocity[here]) + j);
    at.position[tile + g] = {p.x, p.y, p.z, p.w};
    at.velocity[tile + g] = {w.x, w.y, w.z, __float_as_uint(w.w)};
  }
}

// Takes the force on a particle of the block, which is zero afterwards.
__device__ __forceinline__ Vector<float> take_force(BlockForces& block, int k, float unit) {
  const Vector<float> force = force_of<Mixed>(block, k, unit);
  for (Triplets* t : {&block.units, &block.many}) t->x[k] = t->y[k] = t->z[k] = 0;
  return force;
}

// A template, so that it is compiled only where an engine uses it: in mixed precision.
template <class Precision>
__global__ void __launch_bounds__(kIntervalThreads, kIntervalBlocks)
    interval_kernel(const __grid_constant__ Interval a) {
  using P = Mixed;
  static_assert(std::is_same_v<P, Precision>);
  extern __shared__ __align__(16) char interval_memory[];
  __shared__ IntervalMemory m;
  const Step<P>& s = a.step;
  if (stale(s.status, s.number)) return;
  const int tile = s.lists.tile, thread = static_cast<int>(threadIdx.x);
  const IntervalArrays at(interval_memory, tile, a.ghosts, a.pairs);
  const unsigned slots = static_cast<unsigned>(ghost_slots(a.ghosts));
  const int first = static_cast<int>(blockIdx.x) * tile, i = first + thread;
  const bool mine = thread < tile && i < s.count;

  // ---- the pairs of the block ----

  const unsigned long long base = *static_cast<volatile unsigned long long*>(&a.barrier->base);
  P::Position r{};
  P::Velocity v{};
  BoundingSphere sphere{};
  if (mine) {
    at.position[thread] = r = a.position[0][i];
    at.velocity[thread] = v = a.velocity[0][i];
    sphere = s.sphere[i];
  }
  find_keys(a, m, 0);
  for (int k = thread; k < kThreads; k += kIntervalThreads)
    for (Triplets* t : {&m.forces.units, &m.forces.many}) t->x[k] = t->y[k] = t->z[k] = 0;
  for (unsigned k = threadIdx.x; k < slots; k += kIntervalThreads) at.table[k] = kNoGhost;
  if (thread == 0) m.inside = m.across = m.ghosts = m.overfull = 0;
  // Pairs are tested with positions of the whole block, and enter its table.
  __syncthreads();
  collect_pairs(a, m, at, first, slots);
  // Ghosts are numbered when all of them are in the table;
  __syncthreads();
  number_ghosts(a, m, at, slots);
  // pairs across the border take these numbers.
  __syncthreads();
  const int in_tile = m.inside, from_others = m.across, others = m.ghosts;
  const bool refused = m.overfull || others > a.ghosts || in_tile + from_others > a.pairs;
  unsigned* const beyond_tile = at.pair + a.pairs - from_others;
  if (!refused)
    for (int k = thread; k < from_others; k += kIntervalThreads) {
      const unsigned word = beyond_tile[k];
      // The lower half is the ghost's slot in the table: it becomes the ghost's number.
      beyond_tile[k] = (word & 0xffff0000u) | at.table[word & 0xffffu];
    }

  // ---- steps ----

  IntervalPairs pairs{
      m, at, s.forces, tile, s.forces.cutoff_squared * 1.00001f, m.queues[thread / 32]};
  bool stop = refused;
  unsigned long long target = 0;
  int k = 0;
  for (;; ++k) {
    // The block's particles of this step can be read, and its pairs are known.
    if (k > 0 && k % IntervalMemory::kKeys == 0) find_keys(a, m, k);
    stop = __syncthreads_or(stop);
    if (k == a.steps) break;
    if (thread == 0) a.barrier->arrive(k, stop);
    const uint3 key = m.keys[k % IntervalMemory::kKeys];
    const std::uint32_t words[4] = {key.x, key.y, key.z, 0};
    pairs.forces.noise = key_of_words(words);
    // Between arrival and wait: pairs of the block alone need no other block's positions.
    if (!stop) pairs.look_at(at.pair, in_tile);
    if (thread == 0) {
      // Arrivals of all steps so far.
      target += gridDim.x;
      m.seen = a.barrier->wait(base, target);
    }
    // One thread has waited for all blocks: what they have written can be read.
    __syncthreads();
    if (GridBarrier::stops(m.seen - base, k)) {
      // Nothing is done, and the host takes these steps one by one. This is said only after all
      // blocks have met: a block that starts late must not take the lists for expired and leave.
      if (refused && thread == 0) {
        atomicMin(&s.status.device->expired, s.number);
        s.status.host->overfull = 1;
      }
      break;
    }
    const int here = k & 1;
    read_ghosts(a, at, here, others);
    // Ghosts that other threads have fetched are partners now.
    __syncthreads();
    pairs.look_at(beyond_tile, from_others);
    pairs.finish();
    // A particle's force is the sum over pairs of all warps.
    __syncthreads();
    stop = false;
    if (mine) {
      // Velocity Verlet: the second half of this step and the first half of the next one.
      const Vector<float> force = take_force(m.forces, thread, s.unit);
      kick<false>(s.motion, r, v, force);
      kick<false>(s.motion, r, v, force);
      stop = move<false>(s, i, r, v, sphere, s.number + k + 1);
      at.position[thread] = r;
      at.velocity[thread] = v;
      a.position[here ^ 1][i] = r;
      a.velocity[here ^ 1][i] = v;
      a.shorts[here ^ 1][i] = short_of(s.shorts, r);
    }
  }
  // The host learns of the steps at the end: a release waits for what was written to its memory.
  if (blockIdx.x == 0 && thread == 0) {
    a.barrier->base = m.seen;
    if (k > 0) s.status.host->started = s.number + k - 1;
  }
}

}  // namespace manymove::dpd
