// SPDX-License-Identifier: BSD-3-Clause
#include <mutex>

#include "device.cuh"
#include "devices.h"

namespace manymove {

namespace {

// A function of the driver, null where there is none. The runtime has loaded the driver, so that
// nothing needs to be linked with its library.
template <class Function>
Function* driver_function(const char* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result;
#if CUDART_VERSION >= 12050
  const auto status =
      cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result);
#else
  const auto status = cudaGetDriverEntryPoint(name, &found, cudaEnableDefault, &result);
#endif
  // Otherwise the next check would find this error.
  if (status != cudaSuccess) cudaGetLastError();
  return status == cudaSuccess ? reinterpret_cast<Function*>(found) : nullptr;
}

// Retained until the process ends, like the primary contexts that the runtime retains.
CUcontext primary_context(int device) {
  static std::mutex mutex;
  static std::vector<CUcontext> contexts;
  static const auto retain =
      driver_function<CUresult(CUcontext*, CUdevice)>("cuDevicePrimaryCtxRetain");
  const std::lock_guard lock(mutex);
  const auto k = static_cast<std::size_t>(device);
  if (k >= contexts.size()) contexts.resize(k + 1);
  // If it fails, the next call tries again.
  if (!contexts[k] && (!retain || retain(&contexts[k], device) != CUDA_SUCCESS))
    contexts[k] = nullptr;
  return contexts[k];
}

bool make_current(CUcontext context) {
  static const auto set = driver_function<CUresult(CUcontext)>("cuCtxSetCurrent");
  return set && set(context) == CUDA_SUCCESS;
}

}  // namespace

CUcontext current_context() noexcept {
  static const auto get = driver_function<CUresult(CUcontext*)>("cuCtxGetCurrent");
  CUcontext context = nullptr;
  return get && get(&context) == CUDA_SUCCESS ? context : nullptr;
}

void restore_context(CUcontext context) noexcept { make_current(context); }

cudaError_t select_device(int device) noexcept {
  const CUcontext context = primary_context(device);
  if (context && make_current(context)) return cudaSuccess;
  return cudaSetDevice(device);  // says what is wrong with the device
}

cudaDeviceProp device_properties() {
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, existing_device(-1)), "properties");
  return properties;
}

int device_attribute(cudaDeviceAttr attribute) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, attribute, existing_device(-1)), "properties");
  return value;
}

std::size_t free_for_pool() {
  std::size_t free = 0, all = 0;
  check(cudaMemGetInfo(&free, &all), "memory");
  if (!has_pool()) return free;
  cudaMemPool_t pool;
  check(cudaDeviceGetDefaultMemPool(&pool, existing_device(-1)), "pool of memory");
  std::uint64_t reserved = 0, used = 0;
  check(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved),
        "pool of memory");
  check(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used), "pool of memory");
  return free + reserved - used;
}

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
  // CUDA's numbers are 1000 major + 10 minor.
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
  // Memory of the host that CUDA does not know.
  if (memory.type == cudaMemoryTypeUnregistered)
    throw std::invalid_argument("an input array is not in the memory of a CUDA device");
  const DeviceGuard guard(memory.device);
  // Without a stream the array may be written by any of them.
  if (!stream)
    check(cudaDeviceSynchronize(), kWhat);
  else if (*stream)
    check(cudaStreamSynchronize(reinterpret_cast<cudaStream_t>(*stream)), kWhat);
  check(cudaMemcpy(host, device, bytes, cudaMemcpyDefault), kWhat);
}

std::shared_ptr<void> device_memory(int device, std::size_t bytes, const void* content) {
  const DeviceGuard guard(existing_device(device));
  DeviceBuffer<char> buffer(bytes);
  if (content)
    buffer.upload(static_cast<const char*>(content), nullptr);
  else
    buffer.clear(nullptr);
  wait_for_device(device);
  char* const data = buffer.data();
  // Freed with its device current, in whatever thread the last owner is.
  const auto free_on_device =
      [device, memory = std::make_shared<DeviceBuffer<char>>(std::move(buffer))](void*) mutable {
        const DeviceGuard before;
        select_device(device);
        memory.reset();
      };
  return {data, free_on_device};
}

void wait_for_device(int device) {
  const DeviceGuard guard(device);
  check(cudaDeviceSynchronize(), "work of the device");
}

void prepare_for_threads(int device, bool many) {
  const DeviceGuard guard(existing_device(device));
  const unsigned flag = many ? cudaDeviceScheduleBlockingSync : cudaDeviceScheduleAuto;
  // If the flag is refused, threads poll, which is slower but no error.
  if (cudaSetDeviceFlags(flag) != cudaSuccess) cudaGetLastError();
  if (!has_pool()) return;
  cudaMemPool_t pool;
  check(cudaDeviceGetDefaultMemPool(&pool, device), "pool of memory");
  std::uint64_t kept = many ? ~std::uint64_t{0} : 0;  // bytes
  check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept), "pool of memory");
  if (!many) check(cudaMemPoolTrimTo(pool, 0), "pool of memory");
}

}  // namespace manymove
