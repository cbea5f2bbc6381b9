// SPDX-License-Identifier: BSD-3-Clause
// The method "tree" on GPUs: what the engine gives it, and what it does with that.
#pragma once

#include <cuda_runtime.h>

#include <memory>
#include <vector>

#include "../state.h"

namespace manymove::coulomb {

inline constexpr int kRing = 256;  // sweeps whose tallies a device keeps

// Of one sweep, as in the brush's tally.
struct TreeTally {
  unsigned long long accepted, direct, low;
  long long high;
};

// Trials by place in the order of a sweep, of which those up to `end` are being decided. Their
// batches, from `begin` on, are dealt out in turn to the devices that share the chain.
struct Deal {
  int begin, end, batch, own, devices;

  // Trials in this device's batches that begin at `from`, itself the beginning of a batch, or
  // later.
  MM_HD int trials(int from) const {
    const int first = first_batch(from), last = batch_of(end) - 1;
    if (first > last) return 0;
    const int whole = ((last - first) / devices + 1) * batch;
    return (last - first) % devices == 0 ? whole - ((last + 1) * batch - (end - begin)) : whole;
  }
  // Place of the n-th of them; with a larger n, possibly beyond the end.
  MM_HD int place(int from, int n) const {
    return begin + (first_batch(from) + n / batch * devices) * batch + n % batch;
  }
  MM_HD bool owns(int k) const { return (k - begin) / batch % devices == own; }

 private:
  MM_HD int batch_of(int place) const { return (place - begin + batch - 1) / batch; }
  MM_HD int first_batch(int from) const {
    const int next = batch_of(from);
    return next + (own - next % devices + devices) % devices;
  }
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
  // Rules are those with the device's memory; slot: where the tally is kept.
  virtual void begin_sweep(const Rules& rules, const TreeInput& input, int slot) = 0;
  // The number of hopeful trials, for which the host waits.
  virtual int hopeful() const = 0;
  // Numbers of trials, functions of N alone
  virtual Epochs epochs() const = 0;
  virtual int batch() const = 0;
  // An outer epoch, and in it one epoch after the other, trials begin..end.
  virtual void begin_outer(const Deal& deal) = 0;
  virtual void begin_epoch(int begin, int end) = 0;
  virtual void decide_and_move(int begin, int end) = 0;
  virtual void decide(int begin, int end) = 0;
  // Takes the decisions of another device, in order with both devices' work.
  virtual void hear(const DeviceTree& decider, int begin, int end) = 0;
  virtual void move(int begin, int end) = 0;
  virtual void end_epoch(int begin, int end) = 0;
  virtual void end_outer() = 0;

  // Of `sweeps` slots
  virtual void clear_tallies() = 0;
  virtual std::vector<TreeTally> tallies(int sweeps) const = 0;
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
void sweep_by_trees(const std::vector<TreePart>& parts, int slot);

}  // namespace manymove::coulomb
