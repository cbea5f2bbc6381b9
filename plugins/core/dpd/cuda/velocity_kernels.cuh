// SPDX-License-Identifier: BSD-3-Clause
// Changes of velocities on a GPU: sums over a group, and the velocities that follow from them.
#pragma once

#include <bit>
#include <vector>

#include "../velocity_changes.h"
#include "step_constants.cuh"

namespace manymove::dpd {

// One thread per particle.
template <class Position, class Velocity>
__global__ void __launch_bounds__(kThreads)
    moments_kernel(int count, Addends addends, MomentSums sums, const Position* position,
                   const Velocity* velocity) {
  const int i = index_of_thread();
  Moments own;
  if (i < count) addends.add(own, sums.units, position[i], velocity[i]);
  sums.add(own);
}

// One thread per particle: the largest square_of(), of which positive numbers have the order of
// their bits.
template <class Position, class Velocity>
__global__ void __launch_bounds__(kThreads)
    largest_square_kernel(int count, const double* units, unsigned long long* largest,
                          const Position* position, const Velocity* velocity) {
  const int i = index_of_thread();
  const double own = i < count ? fabs(square_of(units, position[i], velocity[i])) : 0;
  auto bits = static_cast<unsigned long long>(__double_as_longlong(own));
  for (int lane = 16; lane > 0; lane /= 2) {
    const unsigned long long other = __shfl_xor_sync(kWholeWarp, bits, lane);
    bits = other > bits ? other : bits;
  }
  if (threadIdx.x % 32 == 0) atomicMax(largest, bits);
}

// A change of velocities in stride. drop: by how much it has lowered the temperature.
struct Drive {
  VelocityChange change;
  MomentScale scale;
  double target;
  double* drop;
};

// One thread per particle, after a step with sums of moments: changes the velocities that the
// particles have at its end, and takes them to the next step. The map is the same for all blocks.
template <Precision P>
__global__ void __launch_bounds__(kThreads)
    drive_kernel(const __grid_constant__ Step<P> s, const Drive drive) {
  __shared__ double found[4];
  __shared__ bool bad;
  if (stale(s.status, s.number)) return;
  // One warp of each block computes the map from the same sums.
  if (threadIdx.x < 32) {
    const Moments sums = s.moments.sums();
    if (threadIdx.x == 0) {
      VelocityMap map;
      double drop = blockIdx.x == 0 ? *drive.drop : 0;
      bad =
          make_map(drive.change, drive.scale, sums, drive.target, drop, map) != ChangeState::kMade;
      found[0] = map.scale[0];
      for (int a = 0; a < 3; ++a) found[1 + a] = map.shift[a];
      if (blockIdx.x == 0) {
        *drive.drop = drop;
        if (bad) refuse_change(s.status, s.number);
      }
    }
  }
  __syncthreads();
  const int i = static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
  if (i >= s.count || bad) return;
  const VelocityMap map = {{found[0], found[0], found[0]}, {found[1], found[2], found[3]}};
  typename P::Position r = s.position[i];
  typename P::Velocity v = s.next_velocity[i];
  // lambda v + shift of make_map(): the velocity at the end of the step becomes scale v + shift;
  // then v(t + dt/2) and r(t + dt).
  if (map.changes_something()) apply(map, drive.change.flag, r, v);
  kick<true>(s.motion, r, v, s.force[i]);
  move<false>(s, i, r, v, s.sphere[i], s.number + 1);
  write_next(s, i, r, v);
}

// One thread per particle.
template <class Position, class Velocity>
__global__ void map_kernel(int count, VelocityMap map, std::uint32_t flag, const Position* position,
                           Velocity* velocity) {
  const int i = index_of_thread();
  if (i < count) apply(map, flag, position[i], velocity[i]);
}

// Sums of moments. The sums of the last kKept steps are kept while later steps are launched.
class VelocitySums {
 public:
  static constexpr std::int64_t kKept = 32;

  VelocitySums(const MomentUnits& units, cudaStream_t stream)
      : units_(on_device(units.by_type(), stream)), sums_(kKept * kWords) {}

  // Where a step adds the first `wanted` sums over a group; they are 0 again.
  MomentSums of_step(std::int64_t step, std::uint32_t flag, int wanted, cudaStream_t stream) const {
    check(cudaMemsetAsync(sums_of(step), 0, kWords * sizeof *sums_of(step), stream), "clear");
    return {sums_of(step), units_.data(), flag, wanted};
  }
  Moments fetch(std::int64_t step, const EngineStream& stream) const {
    std::vector<unsigned long long> copies(kWords);
    stream.fetch(sums_of(step), copies.data(), kWords);
    Moments sums;
    for (std::size_t k = 0; k < kWords; ++k)
      sums.word[k % MomentSums::kWords] += static_cast<std::int64_t>(copies[k]);
    return sums;
  }
  // Sums between two steps.
  template <class Position, class Velocity>
  Moments of(int count, const Addends& addends, const Position* position, const Velocity* velocity,
             const EngineStream& stream) const {
    if (count == 0) return {};
    launch_each(count, stream, &moments_kernel<Position, Velocity>, count, addends,
                of_step(0, 0, Moments::kSums, stream), position, velocity);
    return fetch(0, stream);
  }
  template <class Position, class Velocity>
  double largest_square(int count, const Position* position, const Velocity* velocity,
                        const EngineStream& stream) const {
    if (count == 0) return 0;
    launch_each(count, stream, &largest_square_kernel<Position, Velocity>, count, units_.data(),
                of_step(0, 0, 1, stream).total, position, velocity);
    unsigned long long bits;
    stream.fetch(sums_of(0), &bits, 1);
    return std::bit_cast<double>(bits);
  }

 private:
  static constexpr std::size_t kWords = MomentSums::kCopies * MomentSums::kWords;
  unsigned long long* sums_of(std::int64_t step) const {
    return sums_.data() + step % kKept * static_cast<std::int64_t>(kWords);
  }

  const DeviceBuffer<double> units_;  // of add_moments()
  const DeviceBuffer<unsigned long long> sums_;
};

}  // namespace manymove::dpd
