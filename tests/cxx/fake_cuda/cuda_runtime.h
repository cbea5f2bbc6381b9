// SPDX-License-Identifier: BSD-3-Clause
// A stand-in for the CUDA runtime, without any device: memory is the host's, calls are logged, and
// a test says what fails. Its functions are C++ ones, which do not clash with the real library's.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#define CUDART_VERSION 13000

enum cudaError_t {
  cudaSuccess,
  cudaErrorMemoryAllocation,
  cudaErrorNoDevice,
  cudaErrorInsufficientDriver,
  cudaErrorInvalidValue,
  cudaErrorNotReady,
  cudaErrorIllegalAddress
};
enum cudaDriverEntryPointQueryResult { cudaDriverEntryPointSuccess };
constexpr unsigned long long cudaEnableDefault = 0;
enum cudaMemcpyKind {
  cudaMemcpyHostToDevice,
  cudaMemcpyDeviceToHost,
  cudaMemcpyDeviceToDevice,
  cudaMemcpyDefault
};
enum cudaMemoryType { cudaMemoryTypeUnregistered, cudaMemoryTypeDevice };
using cudaStream_t = struct FakeStream*;
using cudaEvent_t = struct FakeEvent*;
struct cudaDeviceProp {
  char name[256];
  int major, minor, multiProcessorCount;
  std::size_t totalGlobalMem;
};
struct cudaPointerAttributes {
  cudaMemoryType type;
  int device;
};
struct cudaFuncAttributes {
  int ptxVersion;
  int maxDynamicSharedSizeBytes;
};
constexpr unsigned cudaHostAllocMapped = 2, cudaHostAllocPortable = 1, cudaHostRegisterDefault = 0,
                   cudaStreamDefault = 0, cudaStreamNonBlocking = 1, cudaEventDisableTiming = 2;

namespace fake {

struct Runtime {
  int devices = 4;
  int chosen = 0;                             // the device that was set last
  int context = -1;                           // the device of the thread's context, -1: none
  std::set<int> used;                         // devices with a context
  int live = 0;                               // blocks of memory, registrations, streams and events
  int allocations = 0, failing = 0;           // what is made; which of them fails, from 1
  std::string failing_call;                   // a call that fails, by its name
  int ptx_version = 90;                       // of all kernels
  std::atomic<int> shared_memory = 0;         // limit of all kernels
  std::function<void()> after_limit = [] {};  // called when the limit has been read
  std::map<const void*, int> device_of;       // of memory
  std::map<void*, std::function<cudaError_t()>> work;  // of streams
  std::map<void*, void*> recorded;                     // of events: their streams
  std::vector<std::string> log;

  int current() const { return context < 0 ? chosen : context; }
  // A call that needs a context makes one on the device that was set.
  int device() {
    context = current();
    used.insert(context);
    return context;
  }
  cudaError_t stream_state(void* stream) {
    const auto at = work.find(stream);
    return at == work.end() ? cudaSuccess : at->second();
  }
  // An event is done when its stream is.
  cudaError_t event_state(void* event) {
    const auto at = recorded.find(event);
    return at == recorded.end() ? cudaSuccess : stream_state(at->second);
  }
};
inline Runtime runtime;

inline cudaError_t call(const std::string& name, const std::string& of = "") {
  runtime.log.push_back(name + of + " on device " + std::to_string(runtime.device()));
  return name == runtime.failing_call ? cudaErrorIllegalAddress : cudaSuccess;
}
template <class T>
cudaError_t make(T** made, std::size_t bytes) {
  if (++runtime.allocations == runtime.failing) return cudaErrorMemoryAllocation;
  ++runtime.live;
  void* const memory = std::calloc(1, bytes);
  runtime.device_of[memory] = runtime.device();
  *made = static_cast<T*>(memory);
  return cudaSuccess;
}
inline cudaError_t drop(void* made) {
  --runtime.live;
  // As in the runtime, where memory belongs to a device.
  const bool here = runtime.device_of.at(made) == runtime.device();
  std::free(made);
  return here ? cudaSuccess : cudaErrorInvalidValue;
}

}  // namespace fake

inline cudaError_t cudaGetLastError() { return cudaSuccess; }
inline const char* cudaGetErrorString(cudaError_t e) {
  return e == cudaErrorMemoryAllocation ? "out of memory" : "an illegal memory access";
}
inline cudaError_t cudaGetDevice(int* device) {
  *device = fake::runtime.current();
  return cudaSuccess;
}
inline cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= fake::runtime.devices) return cudaErrorInvalidValue;
  fake::runtime.chosen = fake::runtime.context = device;
  fake::runtime.device();
  return cudaSuccess;
}
namespace fake {

inline CUcontext context_of(int device) {
  return reinterpret_cast<CUcontext>(static_cast<std::intptr_t>(device + 1));
}
inline CUresult get_context(CUcontext* context) {
  *context = context_of(runtime.context);
  return CUDA_SUCCESS;
}
inline CUresult set_context(CUcontext context) {
  runtime.context = static_cast<int>(reinterpret_cast<std::intptr_t>(context)) - 1;
  return CUDA_SUCCESS;
}
inline CUresult retain_context(CUcontext* context, CUdevice device) {
  if (device < 0 || device >= runtime.devices) return CUDA_ERROR_INVALID_VALUE;
  runtime.used.insert(device);
  *context = context_of(device);
  return CUDA_SUCCESS;
}

}  // namespace fake

inline cudaError_t cudaGetDriverEntryPointByVersion(const std::string& name, void** function,
                                                    unsigned, unsigned long long,
                                                    cudaDriverEntryPointQueryResult*) {
  if (name == "cuCtxGetCurrent") *function = reinterpret_cast<void*>(&fake::get_context);
  if (name == "cuCtxSetCurrent") *function = reinterpret_cast<void*>(&fake::set_context);
  if (name == "cuDevicePrimaryCtxRetain")
    *function = reinterpret_cast<void*>(&fake::retain_context);
  return cudaSuccess;
}
inline cudaError_t cudaGetDeviceCount(int* count) {
  *count = fake::runtime.devices;
  return *count ? cudaSuccess : cudaErrorNoDevice;
}
inline cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int device) {
  *p = {"device", device, 0, 100, 1};
  return cudaSuccess;
}
constexpr unsigned cudaDeviceScheduleAuto = 0, cudaDeviceScheduleBlockingSync = 4;
inline cudaError_t cudaSetDeviceFlags(unsigned) { return cudaSuccess; }
inline cudaError_t cudaDeviceSynchronize() { return fake::call("wait for the device"); }
inline cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* a, const void* memory) {
  const auto at = fake::runtime.device_of.find(memory);
  const bool known = at != fake::runtime.device_of.end();
  *a = {known ? cudaMemoryTypeDevice : cudaMemoryTypeUnregistered, known ? at->second : -2};
  return cudaSuccess;
}
template <class T>
cudaError_t cudaMalloc(T** memory, std::size_t bytes) {
  return fake::make(memory, bytes);
}
enum cudaDeviceAttr {
  cudaDevAttrMultiProcessorCount,
  cudaDevAttrMaxSharedMemoryPerBlockOptin,
  cudaDevAttrMemoryPoolsSupported
};
inline cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int) {
  *value = 1;
  return cudaSuccess;
}
inline cudaError_t cudaFree(void* memory) { return fake::drop(memory); }
inline cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* all) {
  *free = 1, *all = 2;
  return cudaSuccess;
}
template <class T>
cudaError_t cudaHostAlloc(T** memory, std::size_t bytes, unsigned) {
  return fake::make(memory, bytes);
}
inline cudaError_t cudaFreeHost(void* memory) { return fake::drop(memory); }
inline cudaError_t cudaHostRegister(void*, std::size_t, unsigned) {
  if (++fake::runtime.allocations == fake::runtime.failing) return cudaErrorInvalidValue;
  ++fake::runtime.live;
  return cudaSuccess;
}
inline cudaError_t cudaHostUnregister(void*) {
  --fake::runtime.live;
  return cudaSuccess;
}
inline cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  std::memcpy(to, from, bytes);
  return fake::call("copy");
}
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                                   cudaStream_t) {
  std::memcpy(to, from, bytes);
  return fake::call("copy in a stream");
}
inline cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t) {
  std::memset(to, value, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaDeviceGetStreamPriorityRange(int* lowest, int* highest) {
  *lowest = 0, *highest = -5;
  return cudaSuccess;
}
inline cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags,
                                                int priority) {
  fake::call("stream",
             " of priority " + std::to_string(priority) + ", flags " + std::to_string(flags));
  char* made = nullptr;
  const cudaError_t status = fake::make(&made, 1);
  *stream = reinterpret_cast<cudaStream_t>(made);
  return status;
}
inline cudaError_t cudaStreamDestroy(cudaStream_t stream) { return fake::drop(stream); }
inline cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return fake::call("wait for stream",
                    " " + std::to_string(reinterpret_cast<std::uintptr_t>(stream)));
}
inline const cudaStream_t cudaStreamPerThread = reinterpret_cast<cudaStream_t>(std::uintptr_t{2});
template <class T>
cudaError_t cudaMallocAsync(T** memory, std::size_t bytes, cudaStream_t) {
  fake::call("memory of the pool", " " + std::to_string(bytes));
  return fake::make(memory, bytes);
}
using cudaMemPool_t = struct FakePool*;
enum cudaMemPoolAttr {
  cudaMemPoolAttrReleaseThreshold,
  cudaMemPoolAttrReservedMemCurrent,
  cudaMemPoolAttrUsedMemCurrent
};
inline cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int) {
  *pool = nullptr;
  return cudaSuccess;
}
inline cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void* value) {
  return fake::call("pool keeps", " " + std::to_string(*static_cast<std::uint64_t*>(value)));
}
inline cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t, cudaMemPoolAttr attribute, void* value) {
  *static_cast<std::uint64_t*>(value) = attribute == cudaMemPoolAttrReservedMemCurrent ? 5 : 3;
  return cudaSuccess;
}
inline cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, std::size_t bytes) {
  return fake::call("pool is trimmed", " to " + std::to_string(bytes));
}
inline cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return fake::runtime.stream_state(stream);
}
inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  char* made = nullptr;
  const cudaError_t status = fake::make(&made, 1);
  *event = reinterpret_cast<cudaEvent_t>(made);
  return status;
}
inline cudaError_t cudaEventDestroy(cudaEvent_t event) { return fake::drop(event); }
inline cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  fake::runtime.recorded[event] = stream;
  return cudaSuccess;
}
inline cudaError_t cudaEventQuery(cudaEvent_t event) { return fake::runtime.event_state(event); }
inline cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
inline cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t) { return cudaSuccess; }
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize };
inline cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int bytes) {
  fake::runtime.shared_memory = bytes;
  return cudaSuccess;
}
inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  attributes->ptxVersion = fake::runtime.ptx_version;
  attributes->maxDynamicSharedSizeBytes = fake::runtime.shared_memory;
  fake::runtime.after_limit();
  return cudaSuccess;
}
