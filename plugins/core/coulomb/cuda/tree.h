// SPDX-License-Identifier: BSD-3-Clause
// The method "tree" on GPUs: what the engine gives it, and what it does with that.
#pragma once

#include <cuda_runtime.h>

#include <memory>
#include <vector>

#include "../far_field.h"
#include "chain_arrays.cuh"

namespace manymove::coulomb {

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

// What one device has of the tree. Its device must be current in every call.
class DeviceTree {
 public:
  virtual ~DeviceTree() = default;
  // The charges of all ions on the mesh; needed once, and when they have been put elsewhere.
  virtual void fill(const Site* site) = 0;

  // ---- a sweep, by sweep_by_trees() ----
  // Rules are those with the device's memory. The sweep moves the ions of the chain, and adds to
  // its counts.
  virtual void begin_sweep(const Rules& rules, const ChainArrays& chain) = 0;
  // The number of candidates, for which the host waits.
  virtual int candidates() const = 0;
  // Numbers of trials, functions of N alone
  virtual Epochs epochs() const = 0;
  virtual int batch() const = 0;
  // An outer epoch, and in it one epoch after the other, trials begin..end.
  virtual void begin_outer(const Deal& deal) = 0;
  virtual void begin_epoch(int begin, int end) = 0;
  virtual void decide_and_move(int begin, int end) = 0;
  virtual void decide(int begin, int end) = 0;
  // Takes the decisions of another device, in order with both devices' work.
  virtual void receive(const DeviceTree& decider, int begin, int end) = 0;
  virtual void move(int begin, int end) = 0;
  virtual void end_epoch(int begin, int end) = 0;
  virtual void end_outer() = 0;
};

std::unique_ptr<DeviceTree> make_device_tree(const State& state, const ChangeTree& change,
                                             cudaStream_t stream);

// One device's part of a sweep.
struct TreeDevice {
  int device;
  DeviceTree* tree;
  Rules rules;
  ChainArrays chain;
};
// Decides the trials of a sweep. Every device makes all moves; what is decided, and estimated for
// that, is divided among them.
void sweep_by_trees(const std::vector<TreeDevice>& devices);

}  // namespace manymove::coulomb
