// SPDX-License-Identifier: BSD-3-Clause
// The stream of an engine, how its host waits for it, and launches.
#pragma once

#include <optional>
#include <utility>

#include "../../parallel/transport.cuh"
#include "../../runtime/device.cuh"
#include "step_status.cuh"

namespace manymove::dpd {

// At least `count` threads in whole blocks.
constexpr int blocks_for(int count, int threads = kThreads) {
  return manymove::blocks_for(count, threads);
}

// Runs a kernel with one thread for each of `count` items, in blocks of kThreads.
template <class... Parameters, class... Arguments>
void launch_each(int count, cudaStream_t stream, void (*kernel)(Parameters...),
                 Arguments&&... arguments) {
  if (count <= 0) return;
  kernel<<<blocks_for(count), kThreads, 0, stream>>>(std::forward<Arguments>(arguments)...);
  check_launch();
}
__device__ inline int index_of_thread() {
  return static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
}

class EngineStream {
 public:
  // communicator: null for one rank. With several ranks, waiting watches the others.
  explicit EngineStream(Communicator* communicator) {
    if (communicator) ranks_.emplace(*communicator);
  }
  operator cudaStream_t() const { return stream_; }
  void finish(const char* what) const {
    if (ranks_)
      (*ranks_)(cudaStream_t(stream_), what);
    else
      check(cudaStreamSynchronize(stream_), what);
  }
  // Copies values to the host, and waits for them.
  template <class T>
  void fetch(const T* from, T* host, std::size_t count) const {
    copy_out(host, from, count * sizeof(T), stream_);
    finish("download");
  }

 private:
  const Stream stream_;
  std::optional<RankWaits> ranks_;
};

}  // namespace manymove::dpd
