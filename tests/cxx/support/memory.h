// SPDX-License-Identifier: BSD-3-Clause
// Where a test has its engines and the arrays of a host program: on the CPU, or, compiled by nvcc,
// on the first GPU, in memory that the host reads and writes, too.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

#if defined(__CUDACC__)
#include <cuda_runtime.h>
#endif

namespace manymove::test {

#if defined(__CUDACC__)

template <class T>
struct Managed {
  using value_type = T;
  Managed() = default;
  template <class Other>
  Managed(const Managed<Other>&) {}
  T* allocate(std::size_t count) {
    void* memory = nullptr;
    if (cudaMallocManaged(&memory, count * sizeof(T)) != cudaSuccess) throw std::bad_alloc();
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t) { cudaFree(memory); }
  bool operator==(const Managed&) const { return true; }
};
template <class T>
using Array = std::vector<T, Managed<T>>;
inline constexpr const char* kDevice = "cuda:0";

#else

template <class T>
using Array = std::vector<T>;
inline constexpr const char* kDevice = "cpu";

#endif

}  // namespace manymove::test
