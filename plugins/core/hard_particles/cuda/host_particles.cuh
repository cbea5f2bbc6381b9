// SPDX-License-Identifier: BSD-3-Clause
// The particles of a host program in the memory of the GPU.
#pragma once

#include <cstdint>

#include "../../runtime/device.cuh"
#include "../host_particles.h"
#include "block_sum.cuh"

namespace manymove::hard_particles {

inline constexpr int kHostThreads = 256;

// A thread for each cell.
template <class Real>
__global__ void write_kernel(const __grid_constant__ Geometry g,
                             const __grid_constant__ Frame frame, const HostParticles host,
                             const Sphere* spheres, const std::uint32_t* counts, Trace* trace,
                             const unsigned int* skip) {
  if (skip && *skip) return;
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
  unsigned long long total;
  if (ends_sum(sum, trace, total)) trace->written = total;
}

// A thread for each particle of a host program: have they been moved since?
template <class Real>
__global__ void compare_kernel(const HostParticles host, std::size_t particles, Trace* trace,
                               volatile unsigned* same) {
  const std::size_t at = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  unsigned long long mine = 0, total;
  if (at < particles)
    mine = trace_of(host.tag[at], static_cast<const HostPosition<Real>*>(host.position)[at]);
  if (!ends_sum(mine, trace, total)) return;
  trace->differs = total != trace->written;
  *same = total == trace->written;
}

// What an engine has left in the arrays of a host program. All calls need the engine's device.
class HostArrays {
 public:
  // Does nothing if `skip` is given and points at something else than 0.
  void write(const State& state, const Frame& frame, const HostParticles& host,
             const Sphere* spheres, const std::uint32_t* counts, const unsigned int* skip,
             cudaStream_t stream) {
    if (trace_.size() == 0) {
      trace_ = DeviceBuffer<Trace>(1);
      trace_.clear(stream);
    }
    const auto kernel = host.double_precision ? &write_kernel<double> : &write_kernel<float>;
    kernel<<<blocks(state.cells()), kHostThreads, 0, stream>>>(state.geometry, frame, host, spheres,
                                                               counts, trace_.data(), skip);
    check_launch();
  }

  // Whether there is something to compare with; if so, the answer is on its way.
  bool compare(std::size_t particles, const HostParticles& host, cudaStream_t stream) const {
    if (trace_.size() == 0) return false;
    const auto kernel = host.double_precision ? &compare_kernel<double> : &compare_kernel<float>;
    kernel<<<blocks(particles), kHostThreads, 0, stream>>>(host, particles, trace_.data(),
                                                           same_.get());
    check_launch();
    compared_.record(stream);
    return true;
  }
  // The last answer, on the device and for the host, which waits for it.
  const unsigned int* differs() const { return &trace_.data()->differs; }
  bool same() const {
    compared_.wait();
    return *same_.get() != 0;
  }

 private:
  static unsigned blocks(std::size_t threads) {
    return static_cast<unsigned>(blocks_for(threads, std::size_t{kHostThreads}));
  }

  DeviceBuffer<Trace> trace_;
  MappedMemory<unsigned> same_;
  Event compared_;
};

}  // namespace manymove::hard_particles
