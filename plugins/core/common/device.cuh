// SPDX-License-Identifier: BSD-3-Clause
// Device memory, streams and errors of the CUDA runtime, owned.
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include "devices.h"

namespace manymove {

struct DeviceMemoryError : std::bad_alloc {
  explicit DeviceMemoryError(std::string text) : text(std::move(text)) {}
  const char* what() const noexcept override { return text.c_str(); }
  std::string text;
};

inline void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();
  const std::string text = std::string("CUDA: ") + what + ": " + cudaGetErrorString(status);
  if (status == cudaErrorMemoryAllocation) throw DeviceMemoryError(text);
  throw std::runtime_error(text);
}

// Makes it the thread's own. Throws std::invalid_argument that says what there is.
inline int select_device(int device) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess) {
    cudaGetLastError();
    devices = 0;
  }
  if (device >= devices)
    throw std::invalid_argument("device \"cuda:" + std::to_string(device) + "\" does not exist: " +
                                (devices ? std::to_string(devices) + " CUDA device(s) found"
                                         : "no CUDA device found (" + why_no_cuda_devices() + ")"));
  check(cudaSetDevice(device), "device");
  return device;
}

// What copied_bytes() of devices.h says.
inline std::atomic<std::uint64_t>& copied() {
  static std::atomic<std::uint64_t> bytes{0};
  return bytes;
}

// All copies between host and device are these two (what kernels write into the host's memory is
// none).
inline void copy_in(void* device, const void* host, std::size_t bytes, cudaStream_t stream) {
  copied() += bytes;
  check(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream), "upload");
}
inline void copy_out(void* host, const void* device, std::size_t bytes, cudaStream_t stream) {
  copied() += bytes;
  check(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream), "download");
}

template <class T>
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  explicit DeviceBuffer(std::size_t count) : count_(count) {
    if (count == 0) return;
    const cudaError_t status = cudaMalloc(&data_, count * sizeof(T));
    if (status == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      throw DeviceMemoryError("the GPU has no " + std::to_string(count * sizeof(T) / 1000000 + 1) +
                              " MB left" + what_is_free());
    }
    check(status, "allocation");
  }
  DeviceBuffer(DeviceBuffer&& other) noexcept { swap(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~DeviceBuffer() {
    if (data_) cudaFree(data_);
  }
  void swap(DeviceBuffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
  }
  T* data() const { return data_; }
  std::size_t size() const { return count_; }

  void upload(const T* host, cudaStream_t stream) {
    copy_in(data_, host, count_ * sizeof(T), stream);
    check(cudaStreamSynchronize(stream), "upload");
  }
  void download(T* host, cudaStream_t stream, std::size_t count, std::size_t first = 0) const {
    copy_out(host, data_ + first, count * sizeof(T), stream);
    check(cudaStreamSynchronize(stream), "download");
  }
  void download(T* host, cudaStream_t stream) const { download(host, stream, count_); }
  void clear(cudaStream_t stream) {
    check(cudaMemsetAsync(data_, 0, count_ * sizeof(T), stream), "clear");
  }

 private:
  static std::string what_is_free() {
    std::size_t free = 0, all = 0;
    if (cudaMemGetInfo(&free, &all) != cudaSuccess) {
      cudaGetLastError();
      return "";
    }
    return " (" + std::to_string(free / 1000000) + " of its " + std::to_string(all / 1000000) +
           " MB are free)";
  }

  T* data_ = nullptr;
  std::size_t count_ = 0;
};

// A word in host memory that kernels can write.
class HostFlag {
 public:
  HostFlag() { check(cudaHostAlloc(&word_, sizeof(unsigned), cudaHostAllocMapped), "host memory"); }
  ~HostFlag() { cudaFreeHost(word_); }
  HostFlag(const HostFlag&) = delete;
  HostFlag& operator=(const HostFlag&) = delete;
  volatile unsigned* word() const { return word_; }

 private:
  unsigned* word_ = nullptr;
};

// What has been enqueued until now, to wait for.
class Event {
 public:
  Event() { check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "event"); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void record(cudaStream_t stream) const { check(cudaEventRecord(event_, stream), "event"); }
  void wait() const { check(cudaEventSynchronize(event_), "event"); }
  // What is enqueued in this stream from now on waits for it, on whatever device.
  void hold(cudaStream_t stream) const { check(cudaStreamWaitEvent(stream, event_), "event"); }
  operator cudaEvent_t() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

// Its work is ordered with that of the legacy default stream.
class Stream {
 public:
  Stream() { check(cudaStreamCreate(&stream_), "stream"); }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator cudaStream_t() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

}  // namespace manymove
