// SPDX-License-Identifier: BSD-3-Clause
// Sorts and sums over arrays of a device: CUB's, compiled once for all engines. They are enqueued
// in the stream. `memory` is scratch space of the device, of `bytes`; where it is null, the call
// only sets `bytes` to what the same arguments need. Errors of CUDA are thrown as check() does.
#pragma once

#include <cstddef>

#include "../../runtime/device.cuh"

namespace manymove::dpd {

// Sorts key[0] and order[0], which are `count` long, by the bits of the keys from first_bit to
// before last_bit; equal keys keep their order. Returns k, 0 or 1: the result is in key[k] and
// order[k], and the other arrays are overwritten.
int sort_pairs(void* memory, std::size_t& bytes, const DeviceBuffer<unsigned> (&key)[2],
               const DeviceBuffer<unsigned> (&order)[2], int count, int first_bit, int last_bit,
               cudaStream_t stream);

// to[k]: the sum of from[0] to from[k - 1], for k below count.
void exclusive_sum(void* memory, std::size_t& bytes, const unsigned* from, unsigned* to, int count,
                   cudaStream_t stream);

}  // namespace manymove::dpd
