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

// The steps of a state in the memory of a device.
class DeviceSteps {
 public:
  void upload(const State& state, cudaStream_t stream) {
    squares_ = on_device(state.step_squares, stream);
    bounds_ = on_device(state.step_bounds, stream);
    reaches_ = on_device(state.step_reaches, stream);
    energies_ = on_device(state.step_energies, stream);
  }
  StepView view(const State& state) const {
    StepView steps = step_view(state);
    steps.squares = squares_.data();
    steps.bounds = bounds_.data();
    steps.reaches = reaches_.data();
    steps.energies = energies_.data();
    return steps;
  }

 private:
  DeviceBuffer<double> squares_;
  DeviceBuffer<float> bounds_, reaches_;
  DeviceBuffer<std::int64_t> energies_;
};

struct Plan {
  CycleKernel kernel{};
  LaunchConfig config{};
  DeviceBuffer<std::uint16_t> order;
  bool overlap = false;       // of one cycle's end and the next one's start
  double occupied = 1;        // the share of cells that are not empty
  int capacity_in_group = 0;  // where systems share launches
};

// The threads of a block: whole warps for the cells of a set that are not empty; if they are too
// many, they take turns. The few that are more than the expected number may take a second turn.
inline int threads_of_block(const State& state, const CycleKernel& kernel, double occupied) {
  const int wanted = static_cast<int>(set_cells(state.geometry, state.dimensions()) * kernel.lanes *
                                      std::min(1.0, 1.05 * occupied)),
            most = kernel.most_threads + kernel.most_threads / 20,
            turns = std::max(1, (wanted + most - 1) / most);
  return std::clamp((wanted / turns + 31) / 32 * 32, 64, kernel.most_threads);
}

// How blocks of so many threads work, with as many of the expected particles in shared memory as
// fit. What does not fit goes through the scratch.
inline LaunchConfig config_of(const State& state, const CycleKernel& kernel, int threads,
                              std::size_t shared) {
  constexpr std::size_t kStaticShared = 1024;  // of a block, and what the system takes
  LaunchConfig s{expected_in_tile(state), kernel.list, kernel.moves, threads, nullptr};
  while (s.capacity > 64 && shared_bytes(state, s) + kStaticShared > shared) s.capacity -= 32;
  return s;
}

// occupied: the share of cells that are not empty.
inline Plan plan_of(const State& state, const KernelsOfLaw& kernels, double occupied,
                    cudaStream_t stream) {
  constexpr std::size_t kCrowd = 2;  // particles of a cell on average
  const int multiprocessors = manymove::multiprocessors(), tiles = state.tiles();
  const std::size_t shared = most_shared_memory();
  Plan plan;
  if (state.number_changes()) occupied = 1;  // all cells may fill
  plan.occupied = occupied;
  plan.kernel = tiles > 3 * multiprocessors                ? kernels.many_tiles
                : tiles > 2 * multiprocessors              ? kernels.some_tiles
                : tiles > multiprocessors                  ? kernels.two_tiles
                : state.particles > kCrowd * state.cells() ? kernels.crowded
                                                           : kernels.few_tiles;
  LaunchConfig& s = plan.config;
  s = config_of(state, plan.kernel, threads_of_block(state, plan.kernel, occupied), shared);
  // Systems that share launches have threads for the largest of their tiles.
  const auto in_group = [&](const CycleKernel& kernel) {
    return config_of(state, kernel, kernel.most_threads, shared).capacity;
  };
  plan.capacity_in_group = std::min(in_group(kernels.many_tiles), in_group(kernels.few_tiles));
  const std::size_t bytes = shared_bytes(state, s);
  const int at_once = plan.kernel.with_run([&](auto* run) {
    allow_shared_memory(run, bytes, "shared memory for a tile");
    plan.overlap = waits_for_former_kernel(run);
    return blocks_side_by_side(run, s.threads, bytes);
  });
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
