// SPDX-License-Identifier: BSD-3-Clause
// Devices and threads: the names that users give, and the CUDA devices of this machine. No CUDA
// type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api.h"

namespace manymove {

// The GPUs of "cuda:<index>", or of "cuda:<index>,<index>,..." where several are possible; none for
// "cpu". Throws std::invalid_argument for any other name.
std::vector<int> cuda_indices(const std::string& device, bool several = false);

// Threads of a CPU engine: 0 asks for as many as this machine has. Throws std::invalid_argument for
// a negative number.
int cpu_threads(int asked);

struct Device {
  std::string name;
  int compute_capability[2];
  std::size_t memory;  // bytes
  int multiprocessors;
};

// Empty where there is no driver, no device or no CUDA in this build.
MANYMOVE_API std::vector<Device> cuda_devices();
// Why there is none: no driver, one that is too old for this build, no GPU, no CUDA in this build.
// Empty where there are devices.
MANYMOVE_API std::string why_no_cuda_devices();
// Between host and devices, by the engines of this process until now.
MANYMOVE_API std::uint64_t copied_bytes();
// Copies an array from memory of any CUDA device, after the work of its producer: a handle of the
// CUDA stream with this work (1 is the legacy default stream, 2 the calling thread's), or 0 if the
// array is complete. Without a stream all work of the array's device is waited for. Throws
// std::invalid_argument if it is no memory of a device, std::runtime_error for CUDA's errors.
MANYMOVE_API void copy_from_device(void* host, const void* device, std::size_t bytes,
                                   std::optional<std::uintptr_t> stream);
// Memory of a CUDA device, which is freed with the last copy of the pointer: zeros, or a copy of as
// many bytes of the host. Throws std::bad_alloc if there is too little, std::runtime_error for
// CUDA's errors.
MANYMOVE_API std::shared_ptr<void> device_memory(int device, std::size_t bytes,
                                                 const void* content = nullptr);
// Waits for all work of a CUDA device.
MANYMOVE_API void wait_for_device(int device);
// Prepares a CUDA device for many threads of this process, or, if `many` is false, restores CUDA's
// default. Many threads sleep while they wait for the device; by default they poll it, which
// answers sooner but keeps a core busy for each thread. Memory of the device's pool (Memory::pool
// of device.cuh) stays there when it is freed, because giving it back to the system waits for
// kernels.
MANYMOVE_API void prepare_for_threads(int device, bool many);

}  // namespace manymove
