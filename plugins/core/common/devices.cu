// SPDX-License-Identifier: BSD-3-Clause
#include "device.cuh"
#include "devices.h"

namespace manymove {

std::vector<Device> cuda_devices() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    cudaGetLastError();  // no driver is no error
    return {};
  }
  std::vector<Device> devices;
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp p;
    check(cudaGetDeviceProperties(&p, i), "properties of a device");
    devices.push_back({p.name, {p.major, p.minor}, p.totalGlobalMem, p.multiProcessorCount});
  }
  return devices;
}

std::string why_no_cuda_devices() {
  int count = 0, driver = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess && count > 0) return "";
  cudaGetLastError();
  if (status == cudaSuccess || status == cudaErrorNoDevice) return "the driver shows no GPU";
  if (status != cudaErrorInsufficientDriver) return cudaGetErrorString(status);
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) return "no NVIDIA driver";
  const auto version = [](int v) {
    return std::to_string(v / 1000) + "." + std::to_string(v % 1000 / 10);
  };
  return "the driver is for CUDA " + version(driver) + ", this build for CUDA " +
         version(CUDART_VERSION);
}

std::uint64_t copied_bytes() { return copied(); }

void copy_from_device(void* host, const void* device, std::size_t bytes,
                      std::optional<std::uintptr_t> stream) {
  if (bytes == 0) return;
  constexpr const char* kWhat = "copy of an input array";
  cudaPointerAttributes memory;
  check(cudaPointerGetAttributes(&memory, device), kWhat);
  if (memory.type == cudaMemoryTypeUnregistered)
    throw std::invalid_argument("an input array is not in the memory of a CUDA device");
  const DeviceGuard guard(memory.device);
  if (!stream)
    check(cudaDeviceSynchronize(), kWhat);
  else if (*stream)
    check(cudaStreamSynchronize(reinterpret_cast<cudaStream_t>(*stream)), kWhat);
  check(cudaMemcpy(host, device, bytes, cudaMemcpyDefault), kWhat);
}

}  // namespace manymove
