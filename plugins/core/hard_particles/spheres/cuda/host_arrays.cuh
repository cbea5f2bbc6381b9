// SPDX-License-Identifier: BSD-3-Clause
// The particles of a host program in the memory of the GPU.
#pragma once

#include <cstdint>

#include "../../../runtime/device.cuh"
#include "../host.h"

namespace manymove::hard_particles::spheres {

inline constexpr int kHostThreads = 256;

// Adds the sums of all blocks.
__device__ inline void add_to_trace(unsigned long long mine, unsigned long long* trace) {
  for (int lane = 16; lane > 0; lane /= 2) mine += __shfl_down_sync(~0u, mine, lane);
  if (threadIdx.x % 32 == 0) atomicAdd(trace, mine);
}

// A thread for each cell.
template <class Real>
__global__ void write_kernel(const __grid_constant__ Geometry g,
                             const __grid_constant__ HostFrame frame, const HostParticles host,
                             const Sphere* spheres, const std::uint32_t* counts,
                             unsigned long long* trace) {
  const std::int64_t at = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::int64_t layer = std::int64_t{g.cells[0]} * g.cells[1];
  unsigned long long sum = 0;
  if (at < layer * g.cells[2]) {
    const int cell[3] = {static_cast<int>(at % g.cells[0]),
                         static_cast<int>(at / g.cells[0] % g.cells[1]),
                         static_cast<int>(at / layer)};
    for (std::uint32_t slot = 0; slot < counts[at]; ++slot)
      sum += write_host_particle<Real>(g, frame, cell, spheres[at * g.slots + slot], host);
  }
  add_to_trace(sum, trace);
}

// A thread for each particle.
template <class Real>
__global__ void trace_kernel(const HostParticles host, std::size_t particles,
                             unsigned long long* trace) {
  const std::size_t at = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  unsigned long long mine = 0;
  if (at < particles)
    mine = trace_of(host.tag[at], static_cast<const HostPosition<Real>*>(host.position)[at]);
  add_to_trace(mine, trace);
}

// What an engine has left in the arrays of a host program. All calls need the engine's device.
class HostArrays {
 public:
  void write(const State& state, const HostParticles& host, const Sphere* spheres,
             const std::uint32_t* counts, cudaStream_t stream) {
    if (traces_.size() == 0) traces_ = DeviceBuffer<unsigned long long>(2);
    traces_.clear(stream);
    const auto kernel = host.double_precision ? &write_kernel<double> : &write_kernel<float>;
    kernel<<<blocks(state.cells()), kHostThreads, 0, stream>>>(
        state.geometry, host_frame(state, state.data.origin), host, spheres, counts,
        traces_.data());
    check_launch();
  }

  // Waits for the answer.
  bool same(std::size_t particles, const HostParticles& host, cudaStream_t stream) const {
    if (traces_.size() == 0) return false;
    check(cudaMemsetAsync(traces_.data() + 1, 0, sizeof(unsigned long long), stream), "clear");
    const auto kernel = host.double_precision ? &trace_kernel<double> : &trace_kernel<float>;
    kernel<<<blocks(particles), kHostThreads, 0, stream>>>(host, particles, traces_.data() + 1);
    check_launch();
    unsigned long long traces[2];
    traces_.download(traces, stream);
    return traces[0] == traces[1];
  }

 private:
  static unsigned blocks(std::size_t threads) {
    return static_cast<unsigned>(blocks_for(threads, std::size_t{kHostThreads}));
  }

  DeviceBuffer<unsigned long long> traces_;  // of the last write; of the arrays as last seen
};

}  // namespace manymove::hard_particles::spheres
