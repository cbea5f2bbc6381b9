// SPDX-License-Identifier: BSD-3-Clause
// The method "tree" on GPUs: what the engine gives it, and what it does with that.
#pragma once

#include <cuda_runtime.h>

#include <memory>
#include <vector>

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
  // With a vacuum around: [N][3], and [1]; the sweep changes both
  std::int32_t* image;
  Dipole* dipole;
};

// What one device has of the tree. Its device must be current in every call.
class DeviceTree {
 public:
  virtual ~DeviceTree() = default;
  // The charges of all ions on the mesh; needed once, and when they have been put elsewhere.
  virtual void fill(const Site* site) = 0;

  // ---- a sweep, by sweep_by_trees() ----
  // Rules are those with the device's memory. Returns the number of hopeful trials.
  virtual int begin_sweep(const Rules& rules, const TreeInput& input) = 0;
  // Numbers of trials, functions of N alone
  virtual int epoch() const = 0;
  virtual int batch() const = 0;
  // Trials begin..end, of which device `own` of so many estimates and decides its batches.
  virtual void begin_epoch(int begin, int end, int own, int devices) = 0;
  virtual void decide_and_move(int begin, int end) = 0;
  virtual void decide(int begin, int end) = 0;
  // Takes the decisions of another device, in order with both devices' work.
  virtual void hear(const DeviceTree& decider, int begin, int end) = 0;
  virtual void move(int begin, int end) = 0;
  virtual void end_epoch() = 0;
  virtual TreeTally end_sweep() = 0;
};

std::unique_ptr<DeviceTree> make_device_tree(const State& state, cudaStream_t stream);

// One device's part of a sweep.
struct TreePart {
  int device;
  DeviceTree* tree;
  Rules rules;
  TreeInput input;
};
// Decides the trials of a sweep. Every device makes all moves; what is decided, and estimated for
// that, is divided among them.
TreeTally sweep_by_trees(const std::vector<TreePart>& parts);

}  // namespace manymove::coulomb
