// SPDX-License-Identifier: BSD-3-Clause
// The engines in mixed precision, and the sorts and sums of both precisions.
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

#include "make_engine.cuh"

namespace manymove::dpd {

template std::unique_ptr<Engine> make_cuda_engine<Mixed>(const Settings&, int, Communicator*);

int sort_pairs(void* memory, std::size_t& bytes, const DeviceBuffer<unsigned> (&key)[2],
               const DeviceBuffer<unsigned> (&order)[2], int count, int first_bit, int last_bit,
               cudaStream_t stream) {
  cub::DoubleBuffer<unsigned> keys(key[0].data(), key[1].data()),
      orders(order[0].data(), order[1].data());
  check(cub::DeviceRadixSort::SortPairs(memory, bytes, keys, orders, count, first_bit, last_bit,
                                        stream),
        "sort");
  return keys.selector;
}

void exclusive_sum(void* memory, std::size_t& bytes, const unsigned* from, unsigned* to, int count,
                   cudaStream_t stream) {
  check(cub::DeviceScan::ExclusiveSum(memory, bytes, from, to, count, stream), "sum");
}

}  // namespace manymove::dpd
