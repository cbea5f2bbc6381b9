// SPDX-License-Identifier: BSD-3-Clause
// Changes of velocities on a GPU: sums over a group, and the velocities that follow from them.
#pragma once

#include <vector>

#include "../velocity_changes.h"
#include "step_constants.cuh"

namespace manymove::dpd {

// Sums of m v^2 and m v over a group, by any number of blocks. Integers have the same sum in any
// order, so that atomic additions of blocks give the same bits. total: the words of Moments.
template <class Position, class Velocity>
__global__ void __launch_bounds__(kThreads)
    moments_kernel(int count, std::uint32_t flag, const double* units, const Position* position,
                   const Velocity* velocity, unsigned long long* total) {
  Moments sums;
  for (int i = static_cast<int>(blockIdx.x * kThreads + threadIdx.x); i < count;
       i += static_cast<int>(gridDim.x) * kThreads)
    add_moments(sums, flag, units, position[i], velocity[i]);
  constexpr int kWords = 2 * Moments::kSums;
  __shared__ std::int64_t of_warp[kThreads / 32][kWords];
  const int thread = static_cast<int>(threadIdx.x);
#pragma unroll
  for (int k = 0; k < kWords; ++k) {
    long long value = sums.word[k];
    value = warp_sum(value);
    if (thread % 32 == 0) of_warp[thread / 32][k] = value;
  }
  __syncthreads();
  if (thread >= kWords) return;
  std::int64_t sum = 0;
  for (int w = 0; w < kThreads / 32; ++w) sum += of_warp[w][thread];
  atomicAdd(&total[thread], static_cast<unsigned long long>(sum));
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
  if (threadIdx.x < 32) {
    const Moments sums = s.moments.sums();
    if (threadIdx.x == 0) {
      VelocityMap map;
      double drop = blockIdx.x == 0 ? *drive.drop : 0;
      bad =
          make_map(drive.change, drive.scale, sums, drive.target, drop, map) != ChangeState::kMade;
      found[0] = map.scale;
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
  const VelocityMap map = {found[0], {found[1], found[2], found[3]}};
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

class VelocitySums {
 public:
  VelocitySums(const MomentUnits& units, cudaStream_t stream)
      : units_(on_device(units.by_type(), stream)), total_(2 * Moments::kSums) {}

  template <class Position, class Velocity>
  Moments of(int count, std::uint32_t flag, const Position* position, const Velocity* velocity,
             const EngineStream& stream) {
    Moments sums;
    if (count == 0) return sums;
    total_.clear(stream);
    constexpr int kMostBlocks = 1024;
    moments_kernel<<<std::min(blocks_for(count), kMostBlocks), kThreads, 0, stream>>>(
        count, flag, units_.data(), position, velocity, total_.data());
    check_launch();
    stream.fetch(reinterpret_cast<const std::int64_t*>(total_.data()), sums.word,
                 2 * Moments::kSums);
    return sums;
  }
  const double* units() const { return units_.data(); }

 private:
  const DeviceBuffer<double> units_;  // of add_moments()
  DeviceBuffer<unsigned long long> total_;
};

// Changes of velocities in stride: sums of moments of the steps, and by how much each thermostat
// has lowered its temperature.
class StrideChanges {
 public:
  // kept: sums of so many steps are kept while later ones are launched.
  StrideChanges(std::size_t changes, std::int64_t kept)
      : kept_(kept),
        drops_(changes),
        sums_(changes ? static_cast<std::size_t>(kept) * kWords : 0) {}

  DeviceBuffer<double>& drops() { return drops_; }
  // Of a step, whose sums are 0 again.
  MomentSums moment_sums(const VelocityChange& change, const double* units, std::int64_t step,
                         cudaStream_t stream) const {
    check(cudaMemsetAsync(sums_of(step), 0, kWords * sizeof *sums_of(step), stream), "clear");
    return {sums_of(step), units, change.measured,
            change.kind == VelocityChange::kStop ? Moments::kSums : 1};
  }
  Moments fetch(std::int64_t step, const EngineStream& stream) const {
    std::vector<unsigned long long> copies(kWords);
    stream.fetch(sums_of(step), copies.data(), kWords);
    Moments sums;
    for (std::size_t k = 0; k < kWords; ++k)
      sums.word[k % MomentSums::kWords] += static_cast<std::int64_t>(copies[k]);
    return sums;
  }

 private:
  static constexpr std::size_t kWords = MomentSums::kCopies * MomentSums::kWords;
  unsigned long long* sums_of(std::int64_t step) const {
    return sums_.data() + step % kept_ * static_cast<std::int64_t>(kWords);
  }

  const std::int64_t kept_;
  DeviceBuffer<double> drops_;
  DeviceBuffer<unsigned long long> sums_;
};

}  // namespace manymove::dpd
