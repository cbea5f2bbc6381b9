// SPDX-License-Identifier: BSD-3-Clause
// Teams of GPU threads for team.h, and what they count.
#pragma once

#include <cuda_runtime.h>

#include "../../runtime/warp.cuh"
#include "../team.h"
#include "../team_pointer.h"

namespace manymove::adsorption {

inline constexpr int kThreads = 128;  // of a block of warps

struct DeviceMoveCounts {
  unsigned long long accepted, exchanges, accepted_exchanges;
  unsigned full, stuck, ended, systems;  // ended: systems that have made their steps
  DeviceMoveCounts* host;                // page-locked memory for the counts of all systems
};
struct LaneMoveCounts {
  unsigned accepted = 0, exchanges = 0, accepted_exchanges = 0, full = 0;
};
// Called once for each system, after its steps and a synchronization of its threads. The last
// system writes the counts of all into the memory of the host.
__device__ inline void add_counts(DeviceMoveCounts* moves, const LaneMoveCounts& t) {
  atomicAdd(&moves->accepted, static_cast<unsigned long long>(t.accepted));
  if (t.exchanges) atomicAdd(&moves->exchanges, static_cast<unsigned long long>(t.exchanges));
  if (t.accepted_exchanges)
    atomicAdd(&moves->accepted_exchanges, static_cast<unsigned long long>(t.accepted_exchanges));
  // Bit b: species b has found no free slot.
  if (t.full) atomicOr(&moves->full, t.full);
  __threadfence();
  if (atomicAdd(&moves->ended, 1u) + 1 < moves->systems) return;
  __threadfence();
  DeviceMoveCounts& to = *moves->host;
  // The counts are zero at the next launch.
  to.accepted = atomicExch(&moves->accepted, 0ull);
  to.exchanges = atomicExch(&moves->exchanges, 0ull);
  to.accepted_exchanges = atomicExch(&moves->accepted_exchanges, 0ull);
  to.full = atomicExch(&moves->full, 0u);
  moves->ended = 0;
  __threadfence_system();
  static_cast<volatile unsigned&>(to.ended) = 1;
}
// Whether some system has found no room for a molecule: the others are given up then.
__device__ inline bool is_stuck(const DeviceMoveCounts* moves, int lane) {
  // Read by one lane, so that the whole warp gives up at the same step.
  const unsigned stuck = lane == 0 ? *static_cast<const volatile unsigned*>(&moves->stuck) : 0;
  return value_of_lane(stuck, 0) != 0;
}
__device__ inline int system_of_warp() {
  return static_cast<int>((blockIdx.x * blockDim.x + threadIdx.x) / 32);
}

struct Warp {
  using One = Warp;
  using Whole = Warp;
  // See team.h for what each function does.
  static constexpr int width = 32, neighbors = 2;
  template <class T>
  struct Lane {
    T value;
    __device__ T& operator[](int) { return value; }
    __device__ const T& operator[](int) const { return value; }
  };
  template <class T>
  struct Levels {
    T level[6];
    __device__ T partial(int n, int l) const { return value_of_lane(level[n], l); }
    __device__ T total() const { return level[5]; }
  };

  __device__ static int lane() { return static_cast<int>(threadIdx.x) % 32; }
  __device__ static void each(const auto& f) { f(lane()); }
  __device__ static void strided(int begin, int end, const auto& f) {
    for (int i = begin + lane(); i < end; i += 32) f(lane(), i);
  }
  __device__ static void share(int count, const auto& f) {
    MM_NO_UNROLL
    for (int i = lane(); i < count; i += 32) f(i);
  }
  __device__ static void tasks(TeamPointer<TeamCounters>, int count, const auto& f) {
    MM_NO_UNROLL
    for (int t = 0; t < count; ++t) f(t);
  }
  template <class F>
  __device__ static void bring(const F* from, int count, TeamPointer<F> to) {
    share(count, [&](int i) { to[i] = from[i]; });
    sync();
  }
  __device__ static bool first_warp() { return true; }
  __device__ static One one() { return {}; }
  __device__ static void first_lanes(int some, const auto& f) {
    if (lane() < some) f(lane());
  }
  template <class T>
  __device__ static T sum(const Lane<T>& values) {
    // A butterfly over 16, 8, 4, 2 and 1 lanes, as Loop adds on a CPU: the same bits.
    return warp_sum(values.value);
  }
  template <class T>
  __device__ static T lowest(const Lane<T>& values) {
    return warp_reduce(values.value, [](T a, T b) { return min_of(a, b); });
  }
  __device__ static std::int32_t lowest(const Lane<std::int32_t>& values) {
    return __reduce_min_sync(kWholeWarp, values.value);
  }
  __device__ static std::int32_t highest(const Lane<std::int32_t>& values) {
    return __reduce_max_sync(kWholeWarp, values.value);
  }
  template <class T>
  __device__ static Levels<T> levels(const Lane<T>& values) {
    Levels<T> all;
    all.level[0] = values.value;
    MM_UNROLL
    for (int n = 0; n < 5; ++n)
      // Level n + 1 at lane l is the sum of level n at lanes l and l xor (16 >> n).
      all.level[n + 1] = all.level[n] + __shfl_xor_sync(kWholeWarp, all.level[n], 16 >> n);
    return all;
  }
  __device__ static int compact(int count, const auto& test, const auto& store) {
    // 32 items at a time: the place of a kept item is the number of kept items before it.
    int place = 0;
    for (int base = 0; base < count; base += 32) {
      const int i = base + lane();
      const bool keep = i < count && test(i);
      const unsigned kept = __ballot_sync(kWholeWarp, keep);
      // The rank of a lane among those that keep their item is the number of set bits below its
      // own.
      if (keep) store(i, place + lanes_before(kept, lane()));
      place += __popc(kept);
    }
    return place;
  }
  __device__ static auto difference(const auto& f) {
    // Even lanes compute f(false), odd lanes f(true), side by side.
    const auto value = f((lane() & 1) != 0);
    return value_of_lane(value, 0) - value_of_lane(value, 1);
  }
  __device__ static int first(const Lane<bool>& values) {
    return __ffs(static_cast<int>(__ballot_sync(kWholeWarp, values.value))) - 1;
  }
  // Lane 0 draws for all systems, the others for this one.
  __device__ static StepWords words_of_step(PhiloxKey key, std::uint64_t step, int system) {
    const bool common = lane() == 0;
    std::uint32_t word[4];
    random_words(word, key, step, common ? kEverySystem : static_cast<std::uint32_t>(system), 0u,
                 common ? Purpose::common : Purpose::choose);
    return {{value_of_lane(word[0], 0), value_of_lane(word[1], 0)},
            value_of_lane(word[0], 1),
            value_of_lane(word[1], 1)};
  }
  // Each lane draws for a step of its own, all 32 steps.
  struct Draws {
    PhiloxKey key;
    std::uint64_t begin;
    CommonDraw mine{};
    __device__ Draws(PhiloxKey k, std::uint64_t first) : key(k), begin(first) {}
    __device__ CommonDraw at(std::uint64_t step) {
      // A draw for each of 32 steps costs as much as one for all.
      const auto turn = static_cast<int>((step - begin) % 32);
      if (turn == 0) mine = common_draw(key, step + static_cast<std::uint64_t>(lane()));
      return {value_of_lane(mine.molecule, turn), value_of_lane(mine.kind, turn)};
    }
  };
  __device__ static bool any(const Lane<bool>& values) {
    return __any_sync(kWholeWarp, values.value);
  }
  __device__ static bool leads() { return lane() == 0; }
  __device__ static void sync() { __syncwarp(); }
  __device__ static void add(std::uint64_t* to, std::uint64_t amount) {
    atomicAdd(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(amount));
  }
};

// The warps of a block.
struct Warps : Warp {
  __device__ static void share(int items, const auto& f) {
    MM_NO_UNROLL
    for (int i = static_cast<int>(threadIdx.x); i < items; i += static_cast<int>(blockDim.x)) f(i);
  }
  __device__ static void tasks(TeamPointer<TeamCounters> together, int count, const auto& f) {
    MM_NO_UNROLL
    while (true) {
      int task = 0;
      // Warps take tasks as they become free, since tasks differ in length.
      if (lane() == 0) task = atomicAdd(&together[0].task, 1);
      task = value_of_lane(task, 0);
      if (task >= count) break;
      f(task);
    }
  }
  __device__ static void reset(TeamPointer<TeamCounters> together) {
    if (leads()) together[0] = {0, 0};
  }
  __device__ static std::int64_t total(TeamPointer<TeamCounters> together, std::int64_t amount) {
    // Sums of each warp first, so that 32 threads need one atomic addition.
    const auto sum = warp_sum(static_cast<unsigned long long>(amount));
    if (lane() == 0) atomicAdd(reinterpret_cast<unsigned long long*>(&together[0].sum), sum);
    sync();
    return together[0].sum;
  }
  template <class F>
  __device__ static void bring(const F* from, int count, TeamPointer<F> to) {
    share(count, [&](int i) { to[i] = from[i]; });
    sync();
  }
  __device__ static bool first_warp() { return threadIdx.x < 32; }
  __device__ static bool leads() { return threadIdx.x == 0; }
  __device__ static void sync() { __syncthreads(); }
};

}  // namespace manymove::adsorption
