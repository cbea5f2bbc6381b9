// SPDX-License-Identifier: BSD-3-Clause
// Programmatic dependent launch (compute capability 9.0 and later): blocks of the next kernel may
// start as soon as those of this one leave room. They wait for its end before they read
// its results. The last function copies arguments that a kernel reads from a table.
#pragma once

#include <cstdint>

#include "device.cuh"

namespace manymove {

// Both calls do nothing on older devices, where kernels are launched one after the other.
__device__ inline void wait_for_former_kernel() {
#if __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}
__device__ inline void let_next_kernel_start() {
#if __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}

// A copy in shared memory of what a block needs of a table; all threads take part.
template <class T>
__device__ void copy_to_block(T& copy, const T& from) {
  static_assert(sizeof(T) % 4 == 0 && alignof(T) >= 4);
  for (int i = static_cast<int>(threadIdx.x); i < static_cast<int>(sizeof(T) / 4);
       i += static_cast<int>(blockDim.x))
    reinterpret_cast<std::uint32_t*>(&copy)[i] = reinterpret_cast<const std::uint32_t*>(&from)[i];
}

// Launches a kernel. With `early`, which needs waits_for_former_kernel(kernel), it may start before
// the former kernel has ended, and it calls wait_for_former_kernel() before it reads its results.
template <class... Parameters, class... Arguments>
void launch_kernel(void (*kernel)(Parameters...), dim3 blocks, unsigned threads, std::size_t shared,
                   cudaStream_t stream, bool early, Arguments&&... arguments) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = blocks;
  config.blockDim = threads;
  config.dynamicSmemBytes = shared;
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = early ? 1 : 0;
  check(cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...), "launch");
}

}  // namespace manymove
