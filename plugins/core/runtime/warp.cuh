// SPDX-License-Identifier: BSD-3-Clause
// Communication among the 32 threads of a warp, whose index within the warp is called lane. All
// threads of the warp call these functions together; code that only some of them reach must not.
#pragma once

#include <concepts>

#include "macros.h"

namespace manymove {

inline constexpr int kWarpSize = 32;
inline constexpr unsigned kWholeWarp = 0xffffffffu;

// The value that `lane` has, or the `lane`-th of this thread's group of so many neighboring lanes.
// Lanes may ask for the values of different ones.
template <class T>
__device__ inline T value_of_lane(T value, int lane, int lanes_of_group = kWarpSize) {
  return __shfl_sync(kWholeWarp, value, lane, lanes_of_group);
}

// The lanes of this thread's group of `Lanes` neighboring lanes, in which it is the `lane`-th.
template <int Lanes>
__device__ inline unsigned mask_of_group(int lane) {
  return (kWholeWarp >> (kWarpSize - Lanes)) << (threadIdx.x % kWarpSize - lane);
}

// Combines the values of each group of `Lanes` neighboring lanes; all lanes of the group get the
// result. Partners are Lanes / 2, ..., 2, 1 lanes apart, so that floating-point numbers are
// combined in a fixed order. lanes: the lanes that call it together, whole groups.
template <int Lanes = kWarpSize, class T, std::invocable<T, T> Operation>
__device__ inline T warp_reduce(T value, Operation operation, unsigned lanes = kWholeWarp) {
  MM_UNROLL
  for (int apart = Lanes / 2; apart > 0; apart /= 2)
    value = operation(value, __shfl_xor_sync(lanes, value, apart));
  return value;
}

template <int Lanes = kWarpSize, class T>
__device__ inline T warp_sum(T value) {
  return warp_reduce<Lanes>(value, [](T a, T b) { return a + b; });
}

// The sum of the values of the lanes from 0 to `lane`, which is this thread's in its group.
template <int Lanes = kWarpSize, class T>
__device__ inline T warp_prefix_sum(T value, int lane) {
  MM_UNROLL
  for (int apart = 1; apart < Lanes; apart *= 2) {
    // After this pass a lane has the sum of itself and the 2 apart - 1 lanes below.
    const T below = __shfl_up_sync(kWholeWarp, value, apart, Lanes);
    if (lane >= apart) value += below;
  }
  return value;
}

// The number of lanes below this one in a mask of lanes, for instance that of __ballot_sync(): the
// place of this lane's item where the lanes in the mask store their items one after the other.
__device__ inline int lanes_before(unsigned mask, int lane) {
  return __popc(mask & ((1u << lane) - 1u));
}

}  // namespace manymove
