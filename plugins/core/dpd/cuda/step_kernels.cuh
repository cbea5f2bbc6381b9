// SPDX-License-Identifier: BSD-3-Clause
// The kernels of a time step on a GPU.
#pragma once

#include "../settings.h"
#include "../velocity_changes.h"
#include "fast_math.cuh"
#include "list_kernels.cuh"

namespace manymove::dpd {

// ---- steps ----

// Sums at the end of a step over the particles with this bit in their flags, for a change of
// velocities in stride (drive_kernel). Warps add to one of several copies.
struct Meter {
  static constexpr int kCopies = 32, kWords = 2 * Moments::kSums;
  unsigned long long* total;  // [kCopies][kWords]
  const double* units;        // of add_moments()
  std::uint32_t flag;
  int wanted;  // so many of the sums

  // All threads of a warp; of those without a particle, `here` is false.
  template <class Position, class Velocity>
  __device__ void add(bool here, const Position& r, const Velocity& v) const {
    Moments own;
    if (here) add_moments(own, flag, units, r, v);
    unsigned long long* const to =
        total + (blockIdx.x * (kThreads / 32) + threadIdx.x / 32) % kCopies * kWords;
#pragma unroll
    for (int k = 0; k < Moments::kSums; ++k) {
      if (k >= wanted) break;
#pragma unroll
      for (int word = k; word < kWords; word += Moments::kSums) {
        // The lower and the upper half of what fits into 33 bits.
        const std::int64_t value = own.word[word];
        const unsigned low = __reduce_add_sync(kWarp, static_cast<unsigned>(value) & 0xffffu);
        const int high = __reduce_add_sync(kWarp, static_cast<int>(value >> 16));
        if (threadIdx.x % 32 == 0)
          atomicAdd(&to[word],
                    static_cast<unsigned long long>(static_cast<long long>(high)) * 0x10000u + low);
      }
    }
  }
  // All threads of a warp: the sums of all copies.
  __device__ Moments sums() const {
    Moments sums;
    for (int k = 0; k < wanted; ++k)
      for (int word = k; word < kWords; word += Moments::kSums) {
        auto value = static_cast<long long>(total[threadIdx.x % 32 * kWords + word]);
        for (int d = 16; d > 0; d /= 2) value += __shfl_xor_sync(kWarp, value, d);
        sums.word[word] = value;
      }
    return sums;
  }
};

template <class P>
struct Step {
  using Precision = P;
  int count;
  long long number;
  Meter meter;  // of AllMetered
  Watch watch;
  Cells cells;  // for moved_far()
  Shorts shorts, density_shorts;
  Forces<P> forces;
  Motion<P> motion;
  Lists lists;
  Bonds bonds;  // range and pair are null where there are none
  const BondLaw<typename P::Real>* bond_laws;
  const Vector<typename P::Real>* added;  // forces of bonds and angles; null if there are none
  typename P::Real unit;                  // of forces of pairs
  const Ball* ball;
  int3* image;  // by index of the host
  const unsigned* origin;
  const typename P::Position* position;
  const typename P::Velocity* velocity;
  const Short* short_position;
  const typename P::Real* density;  // of many-body forces
  typename P::Position* next_position;
  typename P::Velocity* next_velocity;
  Short* next_short;
  Vector<typename P::Real>* force;
  double* partial;  // [blocks][kTallies]
  bool ends_lists;  // under shear: the lists do not hold in the next step
};

constexpr int kTallies = 14;

// From a place to the next, with what this means for images and lists. Returns whether lists end.
template <bool sheared, class P>
__device__ bool move(const Step<P>& s, int i, typename P::Position& r, typename P::Velocity& v,
                     const Ball& ball, long long next) {
  const Crossing crossing = drift(s.motion, r, v);
  if constexpr (sheared) follow_flow<P>(s.forces.shear, s.motion.time_step, v);
  if (crossing.x | crossing.y | crossing.z) {
    int3& image = s.image[s.origin[i]];
    image.x += crossing.x;
    image.y += crossing.y;
    image.z += crossing.z;
  }
  if (crossing.lost) lose(s.watch, v.tag, next);
  const unsigned x = high_word(r.x), y = high_word(r.y), z = high_word(r.z);
  const bool far = moved_far(s.cells, x - ball.x, y - ball.y, z - ball.z, ball.radius);
  if (far) expire(s.watch, next);
  return far || crossing.lost;
}

// One thread per particle: from rest, the first half of a step.
template <class P, bool sheared = false>
__global__ void first_kernel(Step<P> s) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= s.count) return;
  if (sheared && i == 0 && s.ends_lists) expire(s.watch, s.number + 1);
  typename P::Position r = s.position[i];
  typename P::Velocity v = s.velocity[i];
  kick<true>(s.motion, r, v, with_body_forces(s.motion, r, s.force[i]));
  move<sheared>(s, i, r, v, s.ball[i], s.number + 1);
  s.next_position[i] = r;
  s.next_short[i] = short_of(s.shorts, high_word(r.x), high_word(r.y), high_word(r.z));
  s.next_velocity[i] = v;
}

template <bool forces_known, class Real>
__device__ void add_over(Sum<Real>& sum, int lanes, bool tally) {
  for (int d = lanes / 2; d > 0; d /= 2) {
    if (!forces_known) {
      sum.force.x += __shfl_xor_sync(kWarp, sum.force.x, d);
      sum.force.y += __shfl_xor_sync(kWarp, sum.force.y, d);
      sum.force.z += __shfl_xor_sync(kWarp, sum.force.z, d);
    }
    if (!tally) continue;
    sum.energy += __shfl_xor_sync(kWarp, sum.energy, d);
    for (Real& v : sum.virial) v += __shfl_xor_sync(kWarp, v, d);
  }
}

// Forces of pairs in mixed precision are rounded to multiples of a unit. Sums of integers have no
// order: what a pair gives to one particle it takes from the other, to the last bit, wherever that
// one is, and whichever comes first.
template <class P>
constexpr bool kIntegers = std::is_same_v<P, Mixed>;

struct Triplets {  // of the particles of a block
  int x[kThreads], y[kThreads], z[kThreads];
  __device__ void add(int k, int a, int b, int c) {
    atomicAdd(&x[k], a);
    atomicAdd(&y[k], b);
    atomicAdd(&z[k], c);
  }
};
struct BlockForces {
  static constexpr float kMany = 0x1p20f;  // units
  Triplets units, many;                    // the latter of what is too large for the former
};

// One thread's own particle, `mine` of its block, feels a pair force (in units), and particle
// `other` of the block the reverse; or a particle elsewhere, where other is not below the tile. 255
// pairs are within the range of integers.
__device__ inline void give(BlockForces& block, int3& own, unsigned mine, unsigned other,
                            unsigned tile, float x, float y, float z) {
  if (fmaxf(fmaxf(fabsf(x), fabsf(y)), fabsf(z)) > 0x1p23f) {
    const float a = rintf(x / BlockForces::kMany), b = rintf(y / BlockForces::kMany),
                c = rintf(z / BlockForces::kMany);
    const int3 many = {__float2int_rn(a), __float2int_rn(b), __float2int_rn(c)};
    block.many.add(static_cast<int>(mine), many.x, many.y, many.z);
    if (other < tile) block.many.add(static_cast<int>(other), -many.x, -many.y, -many.z);
    x -= a * BlockForces::kMany;
    y -= b * BlockForces::kMany;
    z -= c * BlockForces::kMany;
  }
  const int3 units = {__float2int_rn(x), __float2int_rn(y), __float2int_rn(z)};
  own.x += units.x;
  own.y += units.y;
  own.z += units.z;
  if (other < tile) block.units.add(static_cast<int>(other), -units.x, -units.y, -units.z);
}

// Pairs that a warp has collected and any of its threads may compute: owner has whose pair it is,
// as a number within the block, like position and velocity.
template <class P, int particles, int hits>
struct SharedHits {
  typename P::Position position[particles];
  typename P::Velocity velocity[particles];
  unsigned char owner[hits * kThreads];
};

// Sums over the threads of a block, which has so many warps.
__device__ inline void add_over_block(double (&value)[kTallies], int warps, double* total) {
  __shared__ double of_warp[kThreads / 32][kTallies];
  const int thread = static_cast<int>(threadIdx.x);
  for (int a = 0; a < kTallies; ++a) {
    for (int d = 16; d > 0; d /= 2) value[a] += __shfl_xor_sync(kWarp, value[a], d);
    if (thread % 32 == 0) of_warp[thread / 32][a] = value[a];
  }
  __syncthreads();
  if (thread >= kTallies) return;
  double sum = 0;
  for (int k = 0; k < warps; ++k) sum += of_warp[k][thread];
  total[thread] = sum;
}

// Particles of a step: all, or from the first on to before its count.
struct AllParticles {
  static constexpr int first = 0;
  static constexpr bool follows_a_step = true;  // without a gap, by programmatic launch
  static constexpr bool metered = false;        // ends at rest, with the sums of Step::meter
};
struct AllMetered {
  static constexpr int first = 0;
  static constexpr bool follows_a_step = true, metered = true;
};
struct From {
  int first;
  static constexpr bool follows_a_step = false, metered = false;
};

// The fewest blocks of a step that a multiprocessor shall hold at a time; 0: as many as registers
// permit. Six need at most 40 registers each thread, which the plain step of many particles has.
template <class P, bool plain, bool reading, int lanes, class Who, Extra extra>
constexpr int kBlocksAtATime = kIntegers<P> && plain && !reading && lanes == 1 &&
                                       std::is_same_v<Who, AllParticles> && extra == Extra::none
                                   ? 6
                                   : 0;

// `lanes` threads per particle. Pairs within the cutoff are collected first, then computed: threads
// of a warp find different ones of their neighbors there. After that the particle moves on, or,
// when the state is read next, comes to rest.
template <class P, bool plain, bool reading, int lanes, class Who = AllParticles,
          Extra extra = Extra::none>
__global__ void __launch_bounds__(kThreads, (kBlocksAtATime<P, plain, reading, lanes, Who, extra>))
    step_kernel(const __grid_constant__ Step<P> s, const Who who) {
  using Real = typename P::Real;
  using Math = typename MathOf<P>::type;
  constexpr bool sheared = may_be_sheared(plain, extra), upright = is_upright(plain, extra);
  // Where latency counts most, the threads of a warp share its hits equally.
  constexpr bool shared_hits = kIntegers<P> && !reading && lanes == 4;
  // Hits that a thread can keep, and those of the last ones that are computed when a thread is
  // full: what shared memory does not need is left to the L1 cache.
  constexpr int kHits = kIntegers<P> && !shared_hits ? 12 : 20;
  constexpr unsigned kFewHits = 4;
  __shared__ unsigned hit[kHits * kThreads];
  __shared__ std::conditional_t<kIntegers<P>, BlockForces, int> block;
  __shared__ std::conditional_t<shared_hits, SharedHits<P, kThreads / lanes, kHits>, int> sharing;
  const int thread = static_cast<int>(threadIdx.x);
  const int first = who.first + static_cast<int>(blockIdx.x) * (kThreads / lanes);  // of the block
  const int i = first + thread / lanes;
  const bool here = i < s.count;
  const auto apart_in_list = static_cast<std::size_t>(static_cast<unsigned>(s.lists.stride));
  const uint4* list = reinterpret_cast<const uint4*>(s.lists.entry) +
                      static_cast<std::size_t>(thread % lanes) * apart_in_list + i;
  if constexpr (kIntegers<P>) {
    for (Triplets* t : {&block.units, &block.many}) t->x[thread] = t->y[thread] = t->z[thread] = 0;
    __syncthreads();
  }
  // Few particles are a matter of latency: what only a build of lists changes is read while the
  // step before runs.
  constexpr bool early = lanes > 1 && Who::follows_a_step;
  constexpr bool early_ball = early && (lanes > 2 || !kIntegers<P>);  // where registers are left
  int number = 0;
  uint4 ahead{}, second{};
  Ball ball{};
  if constexpr (early) {
    number = here ? s.lists.number[i] : 0;
    if (number > kGroup * (thread % lanes)) ahead = *list;
    if constexpr (shared_hits)
      if (number > kGroup * (thread % lanes + lanes)) second = list[lanes * apart_in_list];
    if constexpr (early_ball) ball = s.ball[here ? i : 0];
  }
#if __CUDA_ARCH__ >= 900
  if constexpr (Who::follows_a_step) {
    cudaGridDependencySynchronize();
    cudaTriggerProgrammaticLaunchCompletion();
  }
#endif
  const typename P::Position r = s.position[here ? i : 0];
  const typename P::Velocity v = s.velocity[here ? i : 0];
  const Short about = s.short_position[here ? i : 0];
  if constexpr (!early) number = here ? s.lists.number[i] : 0;
  // The whole block or none of it: a kernel of the step before may end lists meanwhile.
  const bool skipped = stale(s.watch, s.number);
  if (Who::follows_a_step ? skipped : __syncthreads_or(skipped)) return;
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    s.watch.report->started = s.number;
    if constexpr (sheared && !reading)
      if (s.ends_lists) expire(s.watch, s.number + 1);
  }

  // rho_i + rho_j
  const auto densities = [&](int mine, unsigned j) {
    if constexpr (extra == Extra::many_body) return s.density[mine] + s.density[j];
    return Real(0);
  };
  Sum<Real> sum;
  if constexpr (shared_hits) {
    const int lane = thread % 32, mine = thread / lanes;
    const unsigned below = (1u << lane) - 1u;
    unsigned* const queue = hit + thread / 32 * (32 * kHits);
    unsigned char* const owner = sharing.owner + thread / 32 * (32 * kHits);
    if (thread % lanes == 0) sharing.position[mine] = r, sharing.velocity[mine] = v;
    int queued = 0;
    const auto compute = [&] {
      __syncwarp();
      for (int k = lane; k < queued; k += 32) {
        const unsigned entry = queue[k], j = plain ? entry : entry & kIndexBits;
        const int its = owner[k];
        Sum<Real> pair;
        add_pair<P, Math, plain, false, extra>(pair, s.forces, sharing.position[its],
                                               sharing.velocity[its], s.position[j], s.velocity[j],
                                               entry, densities(first + its, j));
        int3 units = {0, 0, 0};
        give(block, units, static_cast<unsigned>(its), j - static_cast<unsigned>(first),
             static_cast<unsigned>(s.lists.tile), pair.force.x, pair.force.y, pair.force.z);
        block.units.add(its, units.x, units.y, units.z);
      }
      __syncwarp();
      queued = 0;
    };
    const auto places = [&](const uint4& four, Short(&other)[kGroup]) {
      const unsigned entry[kGroup] = {four.x, four.y, four.z, four.w};
#pragma unroll
      for (int q = 0; q < kGroup; ++q)
        other[q] = s.short_position[plain ? entry[q] : entry[q] & kIndexBits];
    };
    const auto collect = [&](int left, const uint4& four, const Short(&other)[kGroup]) {
      const unsigned entry[kGroup] = {four.x, four.y, four.z, four.w};
#pragma unroll
      for (int q = 0; q < kGroup; ++q) {
        const bool in = left > q && maybe_within_cutoff<upright>(s.shorts, about, other[q]);
        const unsigned vote = __ballot_sync(kWarp, in);
        if (in) {
          const int k = queued + __popc(vote & below);
          queue[k] = entry[q];
          owner[k] = static_cast<unsigned char>(mine);
        }
        queued += __popc(vote);
      }
    };
    // Two groups of entries at a time, whose places are read together.
    constexpr int apart = kGroup * lanes;
    int left = number - kGroup * (thread % lanes);
    if constexpr (!early) {
      if (left > 0) ahead = *list;
      if (left > apart) second = list[lanes * apart_in_list];
    }
    while (__any_sync(kWarp, left > 0)) {
      Short near[kGroup] = {}, far[kGroup] = {};
      if (left > 0) places(ahead, near);
      if (left > apart) places(second, far);
      const uint4 these = ahead, those = second;
      list += 2 * lanes * apart_in_list;
      if (left > 2 * apart) ahead = *list;
      if (left > 3 * apart) second = list[lanes * apart_in_list];
      collect(left, these, near);
      collect(left - apart, those, far);
      left -= 2 * apart;
      if (queued > 32 * (kHits - 2 * kGroup)) compute();
    }
    compute();
  } else {
    // The next group of this thread's entries, of which `left` are left.
    const auto next_group = [&](int left) {
      if constexpr (!early) return *list;
      const uint4 four = ahead;
      if (left > kGroup * lanes) ahead = list[lanes * apart_in_list];
      return four;
    };
    int3 units = {0, 0, 0};
    // This thread's hits are kThreads words apart; addresses in shared memory are of 32 bits.
    constexpr unsigned apart = kThreads * sizeof(unsigned);
    const auto bottom = static_cast<unsigned>(__cvta_generic_to_shared(hit + thread));
    unsigned top = bottom;
    const auto add_hit = [&](unsigned at) {
      unsigned entry;
      asm volatile("ld.shared.u32 %0, [%1];" : "=r"(entry) : "r"(at));
      const unsigned j = plain ? entry : entry & kIndexBits;
      if constexpr (kIntegers<P>) {
        Sum<Real> pair;
        add_pair<P, Math, plain, reading, extra>(pair, s.forces, r, v, s.position[j], s.velocity[j],
                                                 entry, densities(i, j));
        const auto other = j - static_cast<unsigned>(first),
                   tile = static_cast<unsigned>(s.lists.tile);
        give(block, units, static_cast<unsigned>(i - first), other, tile, pair.force.x,
             pair.force.y, pair.force.z);
        if constexpr (reading) {
          const float ends = other < tile ? 2 : 1;
          sum.energy += ends * pair.energy;
          for (int a = 0; a < 6; ++a) sum.virial[a] += ends * pair.virial[a];
        }
      } else {
        add_pair<P, Math, plain, reading, extra>(sum, s.forces, r, v, s.position[j], s.velocity[j],
                                                 entry, densities(i, j));
      }
    };
    // When a thread is full, its warp computes the last few hits of each thread, which nearly all
    // of them have: sums of integers have no order. In double precision the order is that of the
    // lists, and all hits are computed.
    const auto compute = [&](unsigned down_to) {
      if constexpr (kIntegers<P>) {
        while (top != down_to) add_hit(top -= apart);
      } else {
        for (unsigned at = bottom; at != top; at += apart) add_hit(at);
        top = bottom;
      }
    };
    for (int left = number - kGroup * (thread % lanes); __any_sync(kWarp, left > 0);
         left -= kGroup * lanes, list += lanes * apart_in_list) {
      if (left > 0) {
        const uint4 four = next_group(left);
        const unsigned entry[kGroup] = {four.x, four.y, four.z, four.w};
        Short other[kGroup];
#pragma unroll
        for (int q = 0; q < kGroup; ++q)
          other[q] = s.short_position[plain ? entry[q] : entry[q] & kIndexBits];
#pragma unroll
        for (int q = 0; q < kGroup; ++q) {
          if (maybe_within_cutoff<upright>(s.shorts, about, other[q]) && left > q) {
            asm volatile("st.shared.u32 [%0], %1;" ::"r"(top), "r"(entry[q]));
            top += apart;
          }
        }
      }
      const bool full = top > bottom + (kHits - kGroup) * apart;
      if (__any_sync(kWarp, full && left > kGroup * lanes))
        compute(top > bottom + kFewHits * apart ? top - kFewHits * apart : bottom);
    }
    compute(bottom);
    if constexpr (kIntegers<P>) block.units.add(i - first, units.x, units.y, units.z);
  }
  if constexpr (kIntegers<P>) {
    __syncthreads();
    const auto both = [&](int units, int many) {
      return s.unit *
             __fmaf_rn(BlockForces::kMany, static_cast<float>(many), static_cast<float>(units));
    };
    const int k = i - first;
    sum.force = {both(block.units.x[k], block.many.x[k]), both(block.units.y[k], block.many.y[k]),
                 both(block.units.z[k], block.many.z[k])};
  }
  add_over<kIntegers<P>>(sum, lanes, reading);

  Sum<Real> bonded;
  bonded.force = sum.force;
  const bool mine = here && thread % lanes == 0;
  [[maybe_unused]] typename P::Velocity at_rest;  // of AllMetered
  if (mine) {
    const auto bond = [&](unsigned j, unsigned type) {
      add_bond<P>(bonded, s.forces.frame, r, s.position[j], s.bond_laws[type], reading);
    };
    if (s.bonds.pair) {
      const uint4 both = s.bonds.pair[i];
      if (both.y) bond(both.x, both.y);
      if (both.w) bond(both.z, both.w);
    } else if (s.bonds.range) {
      const int2 range = s.bonds.range[i];
      for (int k = range.x; k < range.y; ++k)
        bond(s.bonds.index[k], static_cast<unsigned>(s.bonds.type[k]));
    }
    if (s.added) {
      const Vector<Real> more = s.added[i];
      bonded.force = {bonded.force.x + more.x, bonded.force.y + more.y, bonded.force.z + more.z};
    }
    if constexpr (!plain) add_thermostats(s.motion, r, v, bonded.force);
    if constexpr (reading) s.force[i] = bonded.force;
    const auto force = with_body_forces(s.motion, r, bonded.force);
    typename P::Velocity moved = v;
    kick<!plain>(s.motion, r, moved, force);
    if constexpr (Who::metered) {
      s.force[i] = force;
      at_rest = moved;
    } else if constexpr (!reading) {
      kick<!plain>(s.motion, r, moved, force);
      typename P::Position place = r;
      if constexpr (!early_ball) ball = s.ball[i];
      move<sheared>(s, i, place, moved, ball, s.number + 1);
      s.next_position[i] = place;
      s.next_short[i] =
          short_of(s.shorts, high_word(place.x), high_word(place.y), high_word(place.z));
    }
    s.next_velocity[i] = moved;
  }
  if constexpr (Who::metered) s.meter.add(mine, r, at_rest);

  if constexpr (reading) {
    double value[kTallies];
    const double share = mine ? 0.5 : 0.0;
    const double unit = share * static_cast<double>(s.unit);
    value[0] = unit * static_cast<double>(sum.energy);
    value[7] = share * static_cast<double>(bonded.energy);
    for (int a = 0; a < 6; ++a) {
      value[1 + a] = unit * static_cast<double>(sum.virial[a]);
      value[8 + a] = share * static_cast<double>(bonded.virial[a]);
    }
    add_over_block(value, kThreads / 32,
                   s.partial + static_cast<std::size_t>(blockIdx.x) * kTallies);
  }
}

// One block of kTallies x 64 threads: sums over blocks, in an order that the number of blocks
// fixes.
static __global__ void total_kernel(int blocks, const double* partial, double* total) {
  __shared__ double part[kTallies][64];
  const int a = static_cast<int>(threadIdx.x / 64), t = static_cast<int>(threadIdx.x % 64);
  double sum = 0;
  for (int b = t; b < blocks; b += 64) sum += partial[static_cast<std::size_t>(b) * kTallies + a];
  part[a][t] = sum;
  __syncthreads();
  if (t != 0) return;
  for (int k = 1; k < 64; ++k) sum += part[a][k];
  total[a] = sum;
}

// ---- which kernel ----

template <class P, class Who>
using StepKernel = void (*)(const Step<P>, const Who);

template <class P, bool plain, bool reading, class Who, Extra extra = Extra::none>
StepKernel<P, Who> step_kernel_of(int lanes) {
  switch (lanes) {
    case 1:
      return &step_kernel<P, plain, reading, 1, Who, extra>;
    case 2:
      return &step_kernel<P, plain, reading, 2, Who, extra>;
    default:
      return &step_kernel<P, plain, reading, 4, Who, extra>;
  }
}
template <class P, bool plain, class Who, Extra extra = Extra::none>
StepKernel<P, Who> step_kernel_of(bool reading, int lanes) {
  return reading ? step_kernel_of<P, plain, true, Who, extra>(lanes)
                 : step_kernel_of<P, plain, false, Who, extra>(lanes);
}
template <class P>
StepKernel<P, AllMetered> metered_kernel_of(bool plain, int lanes) {
  return plain ? step_kernel_of<P, true, false, AllMetered>(lanes)
               : step_kernel_of<P, false, false, AllMetered>(lanes);
}

// The kernels with an extra, which are compiled in sources of their own (extra_kernels.cuh). Who:
// AllParticles or From.
template <class P, class Who, Extra extra>
StepKernel<P, Who> step_kernel_with(bool plain, bool reading, int lanes);

inline Extra extra_of(const Settings& settings) {
  return settings.pairs.has_densities() ? Extra::many_body
         : settings.pairs.transverse    ? Extra::transverse
         : settings.shear.rate != 0     ? Extra::shear
                                        : Extra::none;
}
// plain: as in is_plain(), with Extra::shear in any box.
template <class P, class Who>
StepKernel<P, Who> step_kernel_of(Extra extra, bool plain, bool reading, int lanes) {
  switch (extra) {
    case Extra::many_body:
      return step_kernel_with<P, Who, Extra::many_body>(plain, reading, lanes);
    case Extra::transverse:
      return step_kernel_with<P, Who, Extra::transverse>(plain, reading, lanes);
    case Extra::shear:
      return step_kernel_with<P, Who, Extra::shear>(plain, reading, lanes);
    default:
      return plain ? step_kernel_of<P, true, Who>(reading, lanes)
                   : step_kernel_of<P, false, Who>(reading, lanes);
  }
}

}  // namespace manymove::dpd
