// SPDX-License-Identifier: BSD-3-Clause
// The method "tree" on GPUs: what the engine gives it, and what it does with that.
#pragma once

#include <cuda_runtime.h>

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

// What one device has of the tree. The device must be current in every call.
class DeviceTree {
 public:
  virtual ~DeviceTree() = default;
  // The charges of all ions on the mesh; needed once, and when they have been put elsewhere.
  virtual void fill(const Site* site) = 0;
};

std::unique_ptr<DeviceTree> make_device_tree(const State& state, const ChangeTree& change,
                                             cudaStream_t stream);

// One device's part of a sweep, with the rules of its own memory. The sweep moves the ions of the
// chain, and adds to its counts.
struct TreeDevice {
  int device;
  DeviceTree* tree;
  Rules rules;
  ChainArrays chain;
};
void sweep_by_trees(const std::vector<TreeDevice>& devices);

}  // namespace manymove::coulomb
