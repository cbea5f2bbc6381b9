// SPDX-License-Identifier: BSD-3-Clause
// Insertions and deletions on a GPU.
#pragma once

#include "../../runtime/device.cuh"
#include "../insertions.h"
#include "../state.h"
#include "launch_config.h"

namespace manymove::hard_particles {

// The visits after a cycle. The host gives the particles their indices, for which it waits.
class CudaInsertions {
 public:
  CudaInsertions(const State& state, cudaStream_t stream) { upload(state, stream); }
  // After a change of the fugacities.
  void upload(const State& state, cudaStream_t stream);

  // Makes the visits. spheres, counts: from this rank's first cell on. labels: of the law, an array
  // that grows. Collective.
  void make(State& state, const Law& law, const FieldView& fields, Sphere* spheres,
            std::uint32_t* counts, DeviceBuffer<Label>& labels, cudaStream_t stream);

 private:
  void visit(const State& state, const Law& law, const FieldView& fields, Sphere* spheres,
             std::uint32_t* counts, cudaStream_t stream);
  // The numbers that the visits have left, in order.
  Changes changes(const State& state, cudaStream_t stream);
  void adopt(const State& state, const NewIndices& of, Sphere* spheres, const std::uint32_t* counts,
             cudaStream_t stream);

  DeviceBuffer<std::int32_t> types_;
  DeviceBuffer<double> logarithms_;
  DeviceBuffer<InsertionCounts> sums_{1};
  DeviceBuffer<std::uint64_t> numbers_, others_;
  const std::uint64_t* sorted_ = nullptr;  // one of them
  PinnedBuffer<std::uint64_t> host_;
  DeviceBuffer<unsigned char> room_;  // to sort them
  DeviceBuffer<std::uint32_t> indices_, former_;
};

}  // namespace manymove::hard_particles
