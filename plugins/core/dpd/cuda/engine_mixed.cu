// SPDX-License-Identifier: BSD-3-Clause
// The engines in mixed precision, and the sorts and sums of both precisions.
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

#include "make_engine.cuh"

namespace manymove::dpd {

template std::unique_ptr<Engine> make_cuda_engine<Mixed>(const Settings&, int, Communicator*);

std::size_t sort_memory(int count, int first_bit, int last_bit, cudaStream_t stream) {
  std::size_t bytes = 0;
  cub::DoubleBuffer<unsigned> keys, orders;
  check(cub::DeviceRadixSort::SortPairs(nullptr, bytes, keys, orders, count, first_bit, last_bit,
                                        stream),
        "sort");
  return bytes;
}

int sort_pairs(void* memory, std::size_t bytes, unsigned* const (&key)[2],
               unsigned* const (&order)[2], int count, int first_bit, int last_bit,
               cudaStream_t stream) {
  cub::DoubleBuffer<unsigned> keys(key[0], key[1]), orders(order[0], order[1]);
  check(cub::DeviceRadixSort::SortPairs(memory, bytes, keys, orders, count, first_bit, last_bit,
                                        stream),
        "sort");
  return keys.selector;
}

std::size_t sum_memory(int count, cudaStream_t stream) {
  std::size_t bytes = 0;
  check(cub::DeviceScan::ExclusiveSum(nullptr, bytes, static_cast<const unsigned*>(nullptr),
                                      static_cast<unsigned*>(nullptr), count, stream),
        "sum");
  return bytes;
}

void exclusive_sum(void* memory, std::size_t bytes, const unsigned* from, unsigned* to, int count,
                   cudaStream_t stream) {
  check(cub::DeviceScan::ExclusiveSum(memory, bytes, from, to, count, stream), "sum");
}

}  // namespace manymove::dpd
