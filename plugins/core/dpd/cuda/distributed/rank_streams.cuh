// SPDX-License-Identifier: BSD-3-Clause
// The streams of a rank's GPU, and how its host waits for them.
#pragma once

#include "../../../parallel/rank_waits.cuh"
#include "../../../runtime/device.cuh"

namespace manymove::dpd {

// Waiting watches the other ranks, whose kernels those of this rank may wait for: it throws
// RankFailure when one of them is silent or has failed. No call is collective.
class RankStreams {
 public:
  // overlap: whether particles move while ghosts travel.
  RankStreams(Communicator& communicator, bool overlap)
      : overlap(overlap), work(main), wait_(communicator) {}
  RankStreams(const RankStreams&) = delete;
  RankStreams& operator=(const RankStreams&) = delete;

  const Stream main;
  // Before and after `main`, and for what must not wait behind these.
  const Stream first{Priority::highest, cudaStreamNonBlocking},
      last{Priority::lowest, cudaStreamNonBlocking},
      rescue{Priority::highest, cudaStreamNonBlocking};
  const bool overlap;
  cudaStream_t work;  // of what comes next

  cudaStream_t ahead() const { return overlap ? first : static_cast<cudaStream_t>(main); }

  // Work: a stream or an event.
  template <class Work>
  void wait(Work work, const char* what) const {
    wait_(work, what);
  }
  void finish(const char* what) const { wait(cudaStream_t(main), what); }
  void finish_all() const {
    for (const cudaStream_t stream : {cudaStream_t(first), cudaStream_t(last), cudaStream_t(main)})
      wait(stream, "step");
  }
  // After a failure: ends what is in the streams, or gives up after a while.
  void settle() const noexcept {
    for (const cudaStream_t stream : {cudaStream_t(first), cudaStream_t(last), cudaStream_t(main)})
      settles(stream);
  }

  // Makes room for `count` values and keeps those that are there; new ones are zero. Freeing memory
  // waits for all kernels, and the other ranks would not be watched meanwhile: this waits first.
  template <class T, class Count>
  void ensure(DeviceBuffer<T>& buffer, Count count) const {
    const auto wanted = static_cast<std::size_t>(count);
    if (wanted <= buffer.size()) return;
    finish_all();
    DeviceBuffer<T> larger(wanted + wanted / 16);
    larger.clear(main);
    if (buffer.size())
      check(cudaMemcpyAsync(larger.data(), buffer.data(), buffer.size() * sizeof(T),
                            cudaMemcpyDeviceToDevice, main),
            "copy");
    finish("copy");
    buffer.swap(larger);
  }

  // The first `count` values.
  template <class T>
  void fetch(const DeviceBuffer<T>& from, T* host, std::size_t count) const {
    copy_out(host, from.data(), count * sizeof(T), main);
    finish("download");
  }

 private:
  const RankWaits wait_;
};

}  // namespace manymove::dpd
