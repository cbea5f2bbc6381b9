// SPDX-License-Identifier: BSD-3-Clause
// The hand-over of positions on GPUs: kernels make the passes, and the transport of the engine's
// rows brings particles from GPU to GPU.
#include <algorithm>
#include <memory>

#include "../../parallel/transport.cuh"
#include "../hand_over_on.h"
#include "../state.h"
#include "glances.cuh"

namespace manymove::hard_particles {
namespace {

constexpr int kThreads = 256;

template <class Pass>
__global__ void pass_kernel(std::size_t n, const Pass pass) {
  const std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < n) pass(i);
}

// Several particles for each thread, because a block adds to the tally.
template <class Pass>
__global__ void glance_kernel(std::size_t n, const Pass pass, Tally* tally) {
  decltype(pass(0)) mine;
  for (std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x; i < n;
       i += std::size_t{gridDim.x} * kThreads)
    mine.add(pass(i));
  add_to(tally, mine);
}

class CudaMachine : OnDevice {
 public:
  template <class T>
  using Array = DeviceBuffer<T>;
  using Segments = Transport::Segments;

  // Collective.
  CudaMachine(Communicator& ranks, int device)
      : OnDevice(device),
        transport_(ranks, {stream_}),
        blocks_(static_cast<unsigned>(multiprocessors()) * 8) {}

  using OnDevice::use;
  template <class T>
  void reserve(DeviceBuffer<T>& array, std::size_t n, std::size_t kept) {
    if (n <= array.size()) return;
    DeviceBuffer<T> larger(n);
    copy_on_device(larger.data(), array.data(), kept * sizeof(T), stream_);
    transport_.finish("positions");  // before the former memory is freed
    array.swap(larger);
  }
  template <class T>
  void clear(T* values, std::size_t n) {
    check(cudaMemsetAsync(values, 0, n * sizeof(T), stream_), "clear");
  }
  // Small arrays, of one value for each rank or domain.
  template <class T>
  void upload(DeviceBuffer<T>& array, const std::vector<T>& values) {
    reserve(array, values.size(), 0);
    copy_in(array.data(), values.data(), values.size() * sizeof(T), stream_);
  }
  void fetch(const Count* from, std::size_t n) {
    if (n > fetched_.size()) {
      PinnedBuffer<Count> larger(n);
      fetched_.swap(larger);
    }
    copy_out(fetched_.data(), from, n * sizeof(Count), stream_);
    copied_.record(stream_);
  }
  const Count* fetched() {
    transport_.wait(copied_, "positions");
    return fetched_.data();
  }
  void follow(const Engine& engine) { engine.lead(stream_); }
  void precede(const Engine& engine) { engine.follow(stream_); }
  template <class Real>
  void visit(const Engine& engine, const HandOverWork& work) {
    engine.hand_over(work, stream_);
  }
  template <class Pass>
  void run(std::size_t n, const Pass& pass) {
    if (n == 0) return;
    const auto blocks = static_cast<unsigned>(blocks_for(n, std::size_t{kThreads}));
    pass_kernel<<<blocks, kThreads, 0, stream_>>>(n, pass);
    check_launch();
  }
  template <class Pass>
  void add(std::size_t n, const Pass& pass, Tally* tally) {
    if (n == 0) return;
    const std::size_t blocks = blocks_for(n, std::size_t{kThreads});
    glance_kernel<<<static_cast<unsigned>(std::min<std::size_t>(blocks, blocks_)), kThreads, 0,
                    stream_>>>(n, pass, tally);
    check_launch();
  }
  void expect(std::size_t bytes) { transport_->expect(bytes); }
  void place(Segments& sent, Segments& received) { transport_->place(sent, received); }
  void exchange(const Segments& sent, const Segments& received) {
    transport_.exchange(sent, received, stream_);
  }
  void mark(Moment moment) { check(cudaEventRecord(marks_[moment], stream_), "time"); }
  double seconds(Moment from, Moment to) const {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, marks_[from], marks_[to]), "time");
    return 1e-3 * milliseconds;
  }
  void end() noexcept { transport_.end(); }

 private:
  // High priority: the passes must not queue behind the tiles of the next sweeps.
  const Stream stream_{Priority::highest};
  PinnedBuffer<Count> fetched_;
  const Event copied_;
  const Event marks_[kMoments]{Event(cudaEventDefault), Event(cudaEventDefault),
                               Event(cudaEventDefault)};
  GuardedTransport transport_;
  const unsigned blocks_;  // of a kernel that adds up
  BetweenCalls between_calls_{*this};
};

}  // namespace

std::unique_ptr<HandOver> make_cuda_hand_over(Communicator& ranks, int device) {
  return std::make_unique<HandOverOn<CudaMachine>>(ranks, device);
}

}  // namespace manymove::hard_particles
