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
  CudaInsertions(const State& state, cudaStream_t stream);

  // Makes the visits in cells from this rank's first on, and returns what they have changed.
  // fields: null without fields and steps.
  Changes visit(const State& state, const Law& law, const FieldView* fields, Sphere* spheres,
                std::uint32_t* counts, cudaStream_t stream);
  // Writes the new indices into the same cells.
  void adopt(const State& state, const NewIndices& of, Sphere* spheres,
             const std::uint32_t* counts, cudaStream_t stream) const;

 private:
  DeviceBuffer<std::int32_t> types_;
  DeviceBuffer<double> logarithms_;
  DeviceBuffer<InsertionCounts> sums_{1};
  DeviceBuffer<unsigned long long> ends_{2};  // of `inserted_` and `removed_`
  DeviceBuffer<Inserted> inserted_;
  DeviceBuffer<std::uint32_t> removed_;
};

}  // namespace manymove::hard_particles
