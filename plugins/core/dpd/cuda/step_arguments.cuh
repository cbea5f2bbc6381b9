// SPDX-License-Identifier: BSD-3-Clause
// What the kernels of a time step on a GPU take, and how a particle moves.
#pragma once

#include <concepts>

#include "../particle_records.h"
#include "../settings.h"
#include "../velocity_changes.h"
#include "fast_math.cuh"
#include "list_kernels.cuh"

namespace manymove::dpd {

// Sums over the particles with this bit in their flags, for a change of velocities (drive_kernel)
// at the end of a step or of a state. Warps add to one of several copies.
struct MomentSums {
  static constexpr int kCopies = 32, kWords = 2 * Moments::kSums;
  unsigned long long* total;  // [kCopies][kWords]
  const double* units;        // of add_moments()
  std::uint32_t flag;
  int wanted;  // so many of the sums

  // All threads of a warp; of those without a particle, `here` is false.
  __device__ void add(bool here, const auto& r, const auto& v) const {
    Moments own;
    if (here) add_moments(own, flag, units, r, v);
    add(own);
  }
  // The same with the addends of each thread.
  __device__ void add(const Moments& own) const {
    unsigned long long* const to =
        total + (blockIdx.x * (kThreads / 32) + threadIdx.x / 32) % kCopies * kWords;
#pragma unroll
    for (int k = 0; k < Moments::kSums; ++k) {
      if (k >= wanted) break;
#pragma unroll
      for (int word = k; word < kWords; word += Moments::kSums) {
        // The lower and the upper half of what fits into 33 bits.
        const std::int64_t value = own.word[word];
        const unsigned low = __reduce_add_sync(kWholeWarp, static_cast<unsigned>(value) & 0xffffu);
        const int high = __reduce_add_sync(kWholeWarp, static_cast<int>(value >> 16));
        if (threadIdx.x % 32 == 0)
          atomicAdd(&to[word],
                    static_cast<unsigned long long>(static_cast<long long>(high)) * 0x10000u + low);
      }
    }
  }
  // All threads of a warp: the sums of all copies.
  __device__ Moments sums() const {
    Moments sums;
    // Lane c brings copy c of each sum.
    for (int k = 0; k < wanted; ++k)
      MM_NO_UNROLL  // costs registers of all threads
          for (int word = k; word < kWords; word += Moments::kSums) {
        sums.word[word] = warp_sum(static_cast<long long>(total[threadIdx.x % 32 * kWords + word]));
      }
    return sums;
  }
};

template <Precision P>
struct Step {
  using Precision = P;
  int count;
  long long number;
  MomentSums moments;  // of AllWithMoments
  StepStatus status;
  Cells cells;  // for moved_far()
  ShortFormat shorts, density_shorts;
  Forces<P> forces;
  Motion<P> motion;
  NeighborLists lists;
  Partners bonds;
  const BondLaw<typename P::Real>* bond_laws;
  const Vector<typename P::Real>* added;    // forces of bonds and angles; null if there are none
  const Vector<typename P::Real>* charged;  // forces of charges; null if there are none
  typename P::Real unit;                    // of forces of pairs
  const BoundingSphere* sphere;
  Image* image;  // by slot, which is origin
  const unsigned* origin;
  const typename P::Position* position;
  const typename P::Velocity* velocity;
  const ShortPosition* short_position;
  const typename P::Real* density;  // of many-body forces
  // Apart from those above, which other threads still read.
  typename P::Position* next_position;
  typename P::Velocity* next_velocity;
  ShortPosition* next_short;
  Vector<typename P::Real>* force;
  Vector<double>* flux;  // of scalars
  double* partial;       // [blocks][kStepSums]
  bool ends_lists;       // under shear: the lists do not hold in the next step
};

constexpr int kStepSums = 14;

// From a place to the next, with what this means for images and lists. Returns whether lists end.
template <bool sheared, Precision P>
__device__ bool move(const Step<P>& s, int i, typename P::Position& r, typename P::Velocity& v,
                     const BoundingSphere& sphere, long long next) {
  const FaceCrossings crossing = drift(s.motion, r, v);
  if constexpr (sheared) follow_flow(s.forces.shear, s.motion.time_step, v);
  if (crossing.x | crossing.y | crossing.z)
    s.image[s.origin[i]].add(crossing.x, crossing.y, crossing.z);
  if (crossing.lost) lose(s.status, v.tag, next);
  const bool far = moved_far(s.cells, sphere, r);
  if (far) expire(s.status, next);
  return far || crossing.lost;
}

// What the next step begins with.
template <Precision P>
__device__ void write_next(const Step<P>& s, int i, const typename P::Position& r,
                           const typename P::Velocity& v) {
  s.next_position[i] = r;
  s.next_short[i] = short_of(s.shorts, r);
  s.next_velocity[i] = v;
}

// Particles of a step: all, or from the first on to before its count.
template <class R>
concept ParticleRange = requires(const R range) {
  { range.first } -> std::convertible_to<int>;
  { R::follows_a_step } -> std::convertible_to<bool>;
  { R::with_moments } -> std::convertible_to<bool>;
};
struct AllParticles {
  static constexpr int first = 0;
  static constexpr bool follows_a_step = true;  // without a gap, by programmatic launch
  static constexpr bool with_moments = false;   // ends at rest, with the sums of Step::moments
};
struct AllWithMoments {
  static constexpr int first = 0;
  static constexpr bool follows_a_step = true, with_moments = true;
};
struct ParticlesFrom {
  int first;
  static constexpr bool follows_a_step = false, with_moments = false;
};

}  // namespace manymove::dpd
