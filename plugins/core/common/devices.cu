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

std::uint64_t copied_bytes() { return copied(); }

void copy_from_device(void* host, const void* device, std::size_t bytes) {
  check(cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost), "copy of an input array");
}

}  // namespace manymove
