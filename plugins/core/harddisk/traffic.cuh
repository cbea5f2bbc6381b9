// SPDX-License-Identifier: BSD-3-Clause
// Rows of a strip on their way between this rank's GPU and its neighbours: through pinned host
// memory, in a stream of their own, beside the cycle's tiles that need none of them.
#pragma once

#include "../common/device.cuh"
#include "divided.h"

namespace manymove::harddisk {
namespace {

class PinnedBuffer {
 public:
  explicit PinnedBuffer(std::size_t bytes) {
    check(cudaHostAlloc(&data_, bytes, cudaHostAllocDefault), "host memory");
  }
  ~PinnedBuffer() { cudaFreeHost(data_); }
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;
  std::byte* data() const { return static_cast<std::byte*>(data_); }

 private:
  void* data_ = nullptr;
};

// Its blocks are started before those of other streams, of which a tile at the edge must not wait
// for all.
class UrgentStream {
 public:
  UrgentStream() {
    int least, greatest;
    check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "stream");
    check(cudaStreamCreateWithPriority(&stream_, cudaStreamDefault, greatest), "stream");
  }
  ~UrgentStream() { cudaStreamDestroy(stream_); }
  UrgentStream(const UrgentStream&) = delete;
  UrgentStream& operator=(const UrgentStream&) = delete;
  operator cudaStream_t() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

class Traffic {
 public:
  Traffic(const State& state)
      : ranks_(*state.ranks),
        row_(state.row_slots()),
        margin_(state.strip->margin()),
        message_{PinnedBuffer(largest()), PinnedBuffer(largest()), PinnedBuffer(largest()),
                 PinnedBuffer(largest())} {}

  cudaStream_t stream() const { return stream_; }

  // Starts to fetch the rows that the neighbours need, of a strip of `rows` rows, once what is in
  // `work` is done.
  void fetch(const Crossing& c, int rows, const Position* cells, const std::int32_t* ids,
             cudaStream_t work) {
    c_ = c;
    follow(stream_, work);
    copy(0, margin_, c.to_below, cells, ids);
    copy(1, margin_ + rows - c.to_above, c.to_above, cells, ids);
    event_.record(stream_);
  }
  // Exchanges them for those of the neighbours, which go into the margins in stream().
  void exchange(int rows, Position* cells, std::int32_t* ids) {
    event_.wait();
    const int count[4] = {c_.to_below, c_.to_above, c_.from_below, c_.from_above};
    Communicator::Bytes bytes[4];
    for (int k = 0; k < 4; ++k) bytes[k] = {message_[k].data(), count[k] * row_ * kSlotBytes};
    ranks_.exchange(bytes, bytes + 2);
    copy(2, margin_ - c_.from_below, c_.from_below, cells, ids);
    copy(3, margin_ + rows, c_.from_above, cells, ids);
  }
  // What comes next in `work` waits for what is in stream().
  void finish(cudaStream_t work) { follow(work, stream_); }

 private:
  std::size_t largest() const { return margin_ * row_ * kSlotBytes; }

  void follow(cudaStream_t later, cudaStream_t earlier) {
    order_.record(earlier);
    order_.hold(later);
  }

  // Between `count` rows from `first` on and a message: positions, then identities.
  template <class Cells, class Ids>
  void copy(int message, int first, int count, Cells* cells, Ids* ids) {
    if (count == 0) return;
    const std::size_t n = count * row_;
    const auto move = [&](auto* device, std::byte* host) {
      void* const there = const_cast<std::remove_const_t<std::remove_pointer_t<decltype(device)>>*>(
          device + first * row_);
      const std::size_t bytes = n * sizeof *device;
      check(message < 2 ? cudaMemcpyAsync(host, there, bytes, cudaMemcpyDeviceToHost, stream_)
                        : cudaMemcpyAsync(there, host, bytes, cudaMemcpyHostToDevice, stream_),
            "rows of a neighbour");
    };
    move(cells, message_[message].data());
    move(ids, message_[message].data() + n * sizeof(Position));
  }

  Communicator& ranks_;
  std::size_t row_;  // slots
  int margin_;
  PinnedBuffer message_[4];  // to below, above; from below, above
  UrgentStream stream_;
  Event event_, order_;
  Crossing c_{};
};

}  // namespace
}  // namespace manymove::harddisk
