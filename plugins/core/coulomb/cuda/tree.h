// SPDX-License-Identifier: BSD-3-Clause
// The method "tree" on one GPU: what the engine gives it, and what it does with that.
#pragma once

#include <cuda_runtime.h>

#include <memory>

#include "../state.h"

namespace manymove::coulomb {

// Of one sweep, as in the brush's tally.
struct TreeTally {
  unsigned long long accepted, direct, low;
  long long high;
};

// Arrays of the engine, on the device.
struct TreeInput {
  Site* site;                // [N], moved by the sweep
  const float4* trial;       // [N]
  const std::int64_t* most;  // [N]
  const double* radius;      // [N]
  const std::int32_t *head, *next;
  const std::int32_t* order;   // [N], hopeful ones first
  const std::uint32_t* count;  // [1], of hopeful ones
};

class DeviceTree {
 public:
  virtual ~DeviceTree() = default;
  // The charges of all ions on the mesh; needed once, and when they have been put elsewhere.
  virtual void fill(const Site* site) = 0;
  // Decides the trials of a sweep. Rules are those with the device's memory.
  virtual TreeTally sweep(const Rules& rules, const TreeInput& input) = 0;
};

// Throws std::invalid_argument for what the tree does not do on GPUs.
std::unique_ptr<DeviceTree> make_device_tree(const State& state, cudaStream_t stream);

}  // namespace manymove::coulomb
