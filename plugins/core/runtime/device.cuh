// SPDX-License-Identifier: BSD-3-Clause
// Device memory, streams and errors of the CUDA runtime, owned.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "devices.h"

namespace manymove {

// The device has too little memory; Python sees a MemoryError.
struct DeviceMemoryError : std::bad_alloc {
  explicit DeviceMemoryError(std::string text) : text(std::move(text)) {}
  const char* what() const noexcept override { return text.c_str(); }
  std::string text;
};

// Throws what a function of the CUDA runtime has returned, if it is an error: DeviceMemoryError, or
// std::runtime_error. `what` is what was tried, for the message. Clears the runtime's last error.
inline void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();
  const std::string text = std::string("CUDA: ") + what + ": " + cudaGetErrorString(status);
  if (status == cudaErrorMemoryAllocation) throw DeviceMemoryError(text);
  throw std::runtime_error(text);
}

// The device of this index, or the calling thread's current one if the index is negative. Throws
// std::invalid_argument, which says what devices there are.
inline int existing_device(int device) {
  if (device < 0) {
    check(cudaGetDevice(&device), "device");
    return device;
  }
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess) {
    cudaGetLastError();
    devices = 0;
  }
  if (device >= devices)
    throw std::invalid_argument("device \"cuda:" + std::to_string(device) + "\" does not exist: " +
                                (devices ? std::to_string(devices) + " CUDA device(s) found"
                                         : "no CUDA device found (" + why_no_cuda_devices() + ")"));
  return device;
}

// The calling thread's context, null if it has none. This call creates none.
CUcontext current_context() noexcept;
void restore_context(CUcontext context) noexcept;
// Makes a device current for the calling thread, by its primary context alone. The device that
// cudaSetDevice has set does not change: it is current again when the thread's context is
// restored, even if there was none.
cudaError_t select_device(int device) noexcept;

// Its destructor restores the context that the calling thread had, or none if it had none.
// cudaSetDevice would create one on a device that is not used, which costs some 0.5 GB there.
class DeviceGuard {
 public:
  DeviceGuard() noexcept : before_(current_context()) {}
  explicit DeviceGuard(int device) : DeviceGuard() { check(select_device(device), "device"); }
  ~DeviceGuard() { restore_context(before_); }
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  CUcontext before_;
};

// The first base class of an engine on one device. The device is current while the engine's members
// are made and destroyed, because this base is made before them and destroyed after them. A
// function of the engine that uses the device begins with use(), the constructor's body included.
class OnDevice {
 public:
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 protected:
  // The last member of the engine: the caller's device is current again while it exists.
  class BetweenCalls {
   public:
    explicit BetweenCalls(OnDevice& engine) : engine_(engine) { engine_.scope_.reset(); }
    ~BetweenCalls() {
      engine_.scope_.emplace();
      select_device(engine_.device_);
    }
    BetweenCalls(const BetweenCalls&) = delete;
    BetweenCalls& operator=(const BetweenCalls&) = delete;

   private:
    OnDevice& engine_;
  };

  // A negative index means the current device.
  explicit OnDevice(int device) : device_(existing_device(device)) { scope_.emplace(device_); }
  ~OnDevice() = default;
  DeviceGuard use() const { return DeviceGuard(device_); }

  const int device_;

 private:
  std::optional<DeviceGuard> scope_;
};

// After the launch of a kernel: throws if it could not be launched.
inline void check_launch() { check(cudaGetLastError(), "launch"); }

// Blocks of so many threads that have at least `count` threads together.
template <class Count>
constexpr Count blocks_for(Count count, std::type_identity_t<Count> threads) {
  return (count + threads - 1) / threads;
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

// Copies within the memory of devices.
inline void copy_on_device(void* to, const void* from, std::size_t bytes, cudaStream_t stream) {
  if (bytes) check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream), "copy");
}

// An array that belongs to this object; T is trivially copyable. Assignment exchanges the arrays.
template <class T>
class OwnedArray {
 public:
  OwnedArray(OwnedArray&& other) noexcept { swap(other); }
  OwnedArray& operator=(OwnedArray&& other) noexcept {
    swap(other);
    return *this;
  }
  void swap(OwnedArray& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    std::swap(free_, other.free_);
  }
  T* data() const { return data_; }
  std::size_t size() const { return count_; }

 protected:
  using Free = cudaError_t (*)(void*);
  OwnedArray() = default;
  OwnedArray(void* data, std::size_t count, Free free)
      : data_(static_cast<T*>(data)), count_(count), free_(free) {}
  ~OwnedArray() {
    if (free_) free_(data_);
  }

 private:
  T* data_ = nullptr;
  std::size_t count_ = 0;
  Free free_ = nullptr;  // null: nothing has to be given back
};

// Where the memory of an array is from. Allocating and freeing an array of its own waits for the
// kernels of all streams. An array of the device's pool waits for none, so that no kernel may use
// it when it is freed.
enum class Memory { own, pool };
int device_attribute(cudaDeviceAttr attribute);  // of the current device
inline bool has_pool() { return device_attribute(cudaDevAttrMemoryPoolsSupported) != 0; }
// Bytes that arrays of the pool may have: those that the current device has left, and those that
// its pool keeps without a use.
std::size_t free_for_pool();

// An array in the memory of the device that is current when it is made, which must be current again
// when it is freed. Its values are undefined until something writes them. Throws DeviceMemoryError,
// with the number of free bytes.
template <class T>
class DeviceBuffer : public OwnedArray<T> {
 public:
  DeviceBuffer() = default;
  explicit DeviceBuffer(std::size_t count, Memory from = Memory::own)
      : OwnedArray<T>(memory_for(count, from), count, count ? &cudaFree : nullptr) {}

  // Copies between the whole array, or a part of it, and host memory in the order of a stream;
  // returns when the copy is complete.
  void upload(const T* host, cudaStream_t stream) {
    copy_in(this->data(), host, this->size() * sizeof(T), stream);
    check(cudaStreamSynchronize(stream), "upload");
  }
  void download(T* host, cudaStream_t stream, std::size_t count, std::size_t first = 0) const {
    copy_out(host, this->data() + first, count * sizeof(T), stream);
    check(cudaStreamSynchronize(stream), "download");
  }
  void download(T* host, cudaStream_t stream) const { download(host, stream, this->size()); }
  std::vector<T> values(cudaStream_t stream) const {
    std::vector<T> host(this->size());
    if (this->size()) download(host.data(), stream);
    return host;
  }
  auto first_value(cudaStream_t stream) const {
    T host;
    download(&host, stream, 1);
    return host;
  }
  // Sets all bytes to one value in the order of a stream; does not wait.
  void clear(cudaStream_t stream, int byte = 0) {
    check(cudaMemsetAsync(this->data(), byte, this->size() * sizeof(T), stream), "clear");
  }

 private:
  static void* memory_for(std::size_t count, Memory from) {
    void* memory = nullptr;
    const std::size_t bytes = count * sizeof(T);
    cudaError_t status = cudaSuccess;
    if (count && from == Memory::pool && has_pool()) {
      // cudaFree gives it back to the pool, without a wait.
      status = cudaMallocAsync(&memory, bytes, cudaStreamPerThread);
      // Other streams use it from now on.
      if (status == cudaSuccess) status = cudaStreamSynchronize(cudaStreamPerThread);
    } else if (count) {
      status = cudaMalloc(&memory, bytes);
    }
    if (status == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      throw DeviceMemoryError("the GPU has no " + std::to_string(bytes / 1000000 + 1) + " MB left" +
                              what_is_free());
    }
    check(status, "allocation");
    return memory;
  }
  static std::string what_is_free() {
    std::size_t free = 0, all = 0;
    if (cudaMemGetInfo(&free, &all) != cudaSuccess) {
      cudaGetLastError();
      return "";
    }
    return " (" + std::to_string(free / 1000000) + " of its " + std::to_string(all / 1000000) +
           " MB are free)";
  }
};

// New arrays of `count` values each in place of these.
template <class... T>
void allocate_each(std::size_t count, DeviceBuffer<T>&... buffer) {
  ((buffer = DeviceBuffer<T>(count)), ...);
}

// A copy of an array of the host; the array is not needed after the call.
template <class T>
DeviceBuffer<T> on_device(const T* host, std::size_t count, cudaStream_t stream,
                          Memory from = Memory::own) {
  DeviceBuffer<T> buffer(count, from);
  if (count) buffer.upload(host, stream);
  return buffer;
}
template <class T>
DeviceBuffer<T> on_device(const std::vector<T>& host, cudaStream_t stream,
                          Memory from = Memory::own) {
  return on_device(host.data(), host.size(), stream, from);
}

// Arrays in the memory of one device, which live as long as this object: the memory behind a struct
// of pointers that kernels take.
class DeviceArrays {
 public:
  // Makes arrays of `count` values each, which are undefined until something writes them.
  void make(std::size_t count, auto*&... array) {
    const auto one = [&](auto*& values) {
      arrays_.emplace_back(count * sizeof *values);
      values = reinterpret_cast<std::remove_reference_t<decltype(values)>>(arrays_.back().data());
    };
    (one(array), ...);
  }
  // Makes a copy of an array of the host, which is not needed after the call.
  template <class T>
  void load(const std::vector<T>& host, auto*& array, cudaStream_t stream) {
    arrays_.push_back(
        on_device(reinterpret_cast<const char*>(host.data()), host.size() * sizeof(T), stream));
    array = reinterpret_cast<T*>(arrays_.back().data());
  }

 private:
  std::vector<DeviceBuffer<char>> arrays_;
};

// Page-locked host memory, which kernels of every device can read and write.
template <class T>
class PinnedBuffer : public OwnedArray<T> {
 public:
  PinnedBuffer() = default;
  explicit PinnedBuffer(std::size_t count)
      : OwnedArray<T>(memory_for(count), count, count ? &cudaFreeHost : nullptr) {}
  // Registers memory of another owner, which must outlive this object. If the system refuses to
  // register such memory, copies still work, only more slowly.
  PinnedBuffer(T* memory, std::size_t count)
      : OwnedArray<T>(memory, count, registers(memory, count) ? &cudaHostUnregister : nullptr) {}
  T& operator[](std::size_t i) const { return this->data()[i]; }

 private:
  static void* memory_for(std::size_t count) {
    void* memory = nullptr;
    if (count == 0) return memory;
    check(cudaHostAlloc(&memory, count * sizeof(T), cudaHostAllocMapped | cudaHostAllocPortable),
          "host memory");
    return memory;
  }
  static bool registers(T* memory, std::size_t count) {
    const cudaError_t status = cudaHostRegister(memory, count * sizeof(T), cudaHostRegisterDefault);
    if (status != cudaSuccess) cudaGetLastError();
    return status == cudaSuccess;
  }
};

// One object in page-locked host memory, which kernels can read and write; it begins as T{}.
template <class T>
class MappedMemory {
 public:
  MappedMemory() : memory_(1) { new (memory_.data()) T{}; }
  T* get() const { return memory_.data(); }
  T* operator->() const { return get(); }
  T& operator*() const { return *get(); }

 private:
  PinnedBuffer<T> memory_;
};

// What has been enqueued until now, to wait for. cudaEventDefault as a flag: and to take the time.
class Event {
 public:
  Event() : Event(cudaEventDisableTiming) {}
  explicit Event(unsigned flags) { check(cudaEventCreateWithFlags(&event_, flags), "event"); }
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

enum class Priority { lowest, highest };

// Blocks of kernels in a stream of the highest priority are started before those of other streams.
// flags: cudaStreamDefault orders the stream's work with that of the legacy default stream,
// cudaStreamNonBlocking does not.
class Stream {
 public:
  explicit Stream(Priority priority = Priority::lowest, unsigned flags = cudaStreamDefault) {
    int lowest = 0, highest = 0;
    check(cudaDeviceGetStreamPriorityRange(&lowest, &highest), "stream");
    check(cudaStreamCreateWithPriority(&stream_, flags,
                                       priority == Priority::highest ? highest : lowest),
          "stream");
  }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator cudaStream_t() const { return stream_; }
  void wait() const { check(cudaStreamSynchronize(stream_), "stream"); }

 private:
  cudaStream_t stream_ = nullptr;
};

cudaFuncAttributes attributes_of(auto* kernel) {
  cudaFuncAttributes compiled;
  check(cudaFuncGetAttributes(&compiled, reinterpret_cast<const void*>(kernel)), "kernel");
  return compiled;
}

// Whether a kernel may be launched while the one before it in its stream still runs (programmatic
// stream serialization). Only code compiled for compute capability 9.0 and above contains the
// instructions that wait for the former kernel's end; other code would read what is not yet
// written.
bool waits_for_former_kernel(auto* kernel) { return attributes_of(kernel).ptxVersion >= 90; }

// The current device.
cudaDeviceProp device_properties();
inline int multiprocessors() { return device_attribute(cudaDevAttrMultiProcessorCount); }
// Bytes that a block may have, with allow_shared_memory().
inline std::size_t most_shared_memory() {
  return static_cast<std::size_t>(device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin));
}
// Blocks of a kernel that a multiprocessor runs at a time.
int blocks_side_by_side(auto* kernel, int threads, std::size_t shared_memory) {
  int blocks = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, shared_memory),
        "occupancy");
  return blocks;
}

// Lets a kernel use this much dynamic shared memory. The limit belongs to the kernel, so that it is
// never lowered: engines of other sizes use it as well. The lock keeps a thread that has read a low
// limit from replacing the higher one that another thread has set in the meantime.
void allow_shared_memory(auto* kernel, std::size_t bytes, const char* what) {
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  if (bytes > static_cast<std::size_t>(attributes_of(kernel).maxDynamicSharedSizeBytes))
    check(
        cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                             cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
        what);
}

}  // namespace manymove
