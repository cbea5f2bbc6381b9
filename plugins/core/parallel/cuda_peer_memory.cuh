// SPDX-License-Identifier: BSD-3-Clause
// How CUDA allocates and maps the memory of peer_memory.h.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>

#include "../runtime/device.cuh"
#include "transport.cuh"

namespace manymove {

// Memory of the GPUs, opened by handles of CUDA's inter-process communication.
class CudaExports {
 public:
  using Handle = cudaIpcMemHandle_t;
  explicit CudaExports(Finish finish) : finish_(std::move(finish)) {}
  void finish() const { finish_(); }
  static void* allocate(std::size_t bytes) {
    // cudaMalloc cuts small pieces out of larger blocks, and a handle exports the whole block.
    void* memory = nullptr;
    check(cudaMalloc(&memory, std::max(bytes, std::size_t(4) << 20)), "memory for other ranks");
    return memory;
  }
  static void clear(void* memory, std::size_t bytes) {
    check(cudaMemset(memory, 0, bytes), "clear");
    check(cudaDeviceSynchronize(), "clear");
  }
  static Handle export_handle(void* memory) {
    Handle handle;
    check(cudaIpcGetMemHandle(&handle, memory), "memory for other ranks");
    return handle;
  }
  static void* open(const Handle& handle) {
    void* memory = nullptr;
    check(cudaIpcOpenMemHandle(&memory, handle, cudaIpcMemLazyEnablePeerAccess),
          "memory of another rank");
    return memory;
  }
  static void close(void* memory) noexcept {
    if (cudaIpcCloseMemHandle(memory) != cudaSuccess) cudaGetLastError();
  }
  static void free(void* memory) noexcept {
    if (cudaFree(memory) != cudaSuccess) cudaGetLastError();
  }

 private:
  Finish finish_;
};

// Memory of the host, page-locked.
class CudaMappings {
 public:
  explicit CudaMappings(Finish finish) : finish_(std::move(finish)) {}
  void finish() const { finish_(); }
  static void* map(void* memory, std::size_t bytes) {
    void* on_device = nullptr;
    if (cudaHostRegister(memory, bytes, cudaHostRegisterMapped) == cudaSuccess &&
        cudaHostGetDevicePointer(&on_device, memory, 0) != cudaSuccess)
      cudaHostUnregister(memory);
    cudaGetLastError();
    return on_device;
  }
  static void unmap(void* memory) noexcept {
    if (cudaHostUnregister(memory) != cudaSuccess) cudaGetLastError();
  }

 private:
  Finish finish_;
};

}  // namespace manymove
