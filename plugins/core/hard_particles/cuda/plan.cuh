// SPDX-License-Identifier: BSD-3-Clause
// The choice of a kernel for the cycles of a system, and of how it schedules its work. This has no
// say in the trajectory, so it may depend on the device.
#pragma once

#include <algorithm>
#include <vector>

#include "../../runtime/launch.cuh"
#include "launch_config.h"
#include "order.h"

namespace manymove::hard_particles {

struct Plan {
  CycleKernel kernel{};
  LaunchConfig config{};
  DeviceBuffer<std::uint16_t> order;
  bool overlap = false;  // of one cycle's end and the next one's start
};

// occupied: the share of cells that are not empty.
inline Plan plan_of(const State& state, const KernelsOfLaw& kernels, double occupied, int device,
                    cudaStream_t stream) {
  constexpr std::size_t kCrowd = 2;            // particles of a cell on average
  constexpr std::size_t kStaticShared = 1024;  // of a block, and what the system takes
  const auto attribute = [&](cudaDeviceAttr name) {
    int value = 0;
    check(cudaDeviceGetAttribute(&value, name, device), "device");
    return value;
  };
  const int multiprocessors = attribute(cudaDevAttrMultiProcessorCount), tiles = state.tiles();
  const auto shared = static_cast<std::size_t>(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin));
  Plan plan;
  plan.kernel = tiles > 3 * multiprocessors                ? kernels.many_tiles
                : tiles > 2 * multiprocessors              ? kernels.some_tiles
                : tiles > multiprocessors                  ? kernels.two_tiles
                : state.particles > kCrowd * state.cells() ? kernels.crowded
                                                           : kernels.few_tiles;
  // Whole warps for the cells of a set that are not empty; if they are too many, they take turns.
  // The few that are more than the expected number may take a second turn.
  LaunchConfig& s = plan.config;
  const int wanted = static_cast<int>(set_cells(state.geometry, state.dimensions()) *
                                      plan.kernel.lanes * std::min(1.0, 1.05 * occupied)),
            most = plan.kernel.most_threads + plan.kernel.most_threads / 20,
            turns = std::max(1, (wanted + most - 1) / most);
  s.threads = std::clamp((wanted / turns + 31) / 32 * 32, 64, plan.kernel.most_threads);
  s.list = plan.kernel.list;
  s.moves = plan.kernel.moves;
  s.capacity = expected_in_tile(state);
  // What does not fit goes through the scratch.
  while (s.capacity > 64 && shared_bytes(state, s) + kStaticShared > shared) s.capacity -= 32;
  const std::size_t bytes = shared_bytes(state, s);
  allow_shared_memory(plan.kernel.run, bytes, "shared memory for a tile");
  plan.overlap = waits_for_former_kernel(plan.kernel.run);
  int at_once = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&at_once, plan.kernel.run, s.threads, bytes),
        "device");
  // Ranks launch some of their tiles at a time.
  if (state.strip || tiles <= multiprocessors || tiles > at_once * multiprocessors) return plan;
  const std::vector<std::uint16_t> order =
      state.dimensions() == 2 ? balanced_order<2>(state.geometry, tiles, multiprocessors)
                              : balanced_order<3>(state.geometry, tiles, multiprocessors);
  if (order.empty()) return plan;
  plan.order = on_device(order, stream);
  s.order = plan.order.data();
  return plan;
}

}  // namespace manymove::hard_particles
