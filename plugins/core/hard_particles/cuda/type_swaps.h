// SPDX-License-Identifier: BSD-3-Clause
// Swap moves of types on a GPU.
#pragma once

#include "../../runtime/device.cuh"
#include "../state.h"
#include "../type_swaps.h"

namespace manymove::hard_particles {

class CudaTypeSwaps {
 public:
  // Makes the swap moves after a cycle, in its grid, and gives the particles their new types, here
  // and in the state. Cells are from this rank's first on. Waits for the device.
  void make(State& state, const Law& law, const FieldView& fields, Sphere* spheres,
            std::uint32_t* counts, DeviceBuffer<Label>& labels, cudaStream_t stream);

 private:
  DeviceBuffer<unsigned long long> counts_{3};  // trials, accepted, changed types
  DeviceBuffer<TypeChange> changes_;
};

}  // namespace manymove::hard_particles
