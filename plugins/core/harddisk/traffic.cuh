// SPDX-License-Identifier: BSD-3-Clause
// Rows of a strip on their way between this rank's GPU and its neighbours': through pinned host
// memory, in a stream of their own, beside the cycle's tiles that need none of them.
#pragma once

#include <array>
#include <memory>
#include <type_traits>

#include "../common/device.cuh"
#include "divided.h"

namespace manymove::harddisk {
namespace {

class Traffic {
 public:
  explicit Traffic(const State& state)
      : ranks_(*state.ranks), row_(state.row_slots()), margin_(state.strip->margin()) {}

  cudaStream_t stream() const { return stream_; }

  // Starts to fetch the rows that the neighbours need, of a strip of `rows` rows, once what is in
  // `work` is done.
  void fetch(const Crossing& c, int rows, const Position* cells, const std::int32_t* ids,
             cudaStream_t work) {
    if (!out_) allocate();
    turn_ = 1 - turn_;
    c_ = c;
    follow(stream_, work);
    copy(message(*out_, 0), true, margin_, c.to_below, cells, ids);
    copy(message(*out_, 1), true, margin_ + rows - c.to_above, c.to_above, cells, ids);
    event_.record(stream_);
  }
  // Exchanges them for those of the neighbors, which go into the margins in stream(). Waits for
  // this rank's GPU alone, whose faults end the wait and are told to all ranks by the divided
  // engine, and for the neighbors through ranks_, whose watchdog hears of theirs.
  void exchange(int rows, Position* cells, std::int32_t* ids) {
    event_.wait();
    const std::size_t row = row_ * kSlotBytes;
    const auto bytes = [&](bool shared, int word, const Rows& buffer, int way, int count) {
      return shared ? RankRing::Bytes{in_->data() + 4 * largest() + word, 1}
                    : RankRing::Bytes{message(buffer, way), count * row};
    };
    const bool below = from_[0] != in_.get(), above = from_[1] != in_.get();  // share memory
    const RankRing::Bytes out[2] = {bytes(below, 0, *out_, 0, c_.to_below),
                                    bytes(above, 1, *out_, 1, c_.to_above)};
    const RankRing::Bytes in[2] = {bytes(below, 2, *in_, 1, c_.from_below),
                                   bytes(above, 3, *in_, 0, c_.from_above)};
    try {
      ranks_.exchange(out, in);
    } catch (...) {
      // MPI may still use them: these owners are never destroyed. Shared memory is another's.
      new std::array{shares_ ? nullptr : out_, in_};
      throw;
    }
    copy(message(*from_[0], 1), false, margin_ - c_.from_below, c_.from_below, cells, ids);
    copy(message(*from_[1], 0), false, margin_ + rows, c_.from_above, cells, ids);
  }
  // What comes next in `work` waits for what is in stream().
  void finish(cudaStream_t work) { follow(work, stream_); }

 private:
  using Rows = PinnedBuffer<std::byte>;

  std::size_t largest() const { return margin_ * row_ * kSlotBytes; }

  // A neighbor on the same machine reads what this rank sends where it lies, and is told by a
  // message of one byte. Double buffered: message n + 1 from a neighbor proves that it has read
  // message n.
  void allocate() {
    const std::size_t bytes = 4 * largest();
    const RankRing::Shared shared = ranks_.share(bytes);
    shares_ = shared.mine != nullptr;
    in_ = std::make_shared<Rows>(bytes + 4);  // the last four: words of neighbors
    const auto use = [&](std::unique_ptr<Rows>& buffer, void* memory) {
      buffer = memory ? std::make_unique<Rows>(static_cast<std::byte*>(memory), bytes) : nullptr;
      return buffer ? buffer.get() : in_.get();
    };
    out_ = shared.mine ? std::make_shared<Rows>(static_cast<std::byte*>(shared.mine), bytes)
                       : std::make_shared<Rows>(bytes);
    from_[0] = use(below_, shared.below);
    from_[1] = shared.above == shared.below ? from_[0] : use(above_, shared.above);
  }
  // To the rank below (0) or above (1).
  std::byte* message(const Rows& buffer, int way) const {
    return buffer.data() + (2 * turn_ + way) * largest();
  }

  void follow(cudaStream_t later, cudaStream_t earlier) {
    order_.record(earlier);
    order_.hold(later);
  }

  // Between `count` rows from `first` on and a message: positions, then identities.
  template <class Cells, class Ids>
  void copy(std::byte* message, bool out, int first, int count, Cells* cells, Ids* ids) {
    if (count == 0) return;
    const std::size_t n = count * row_;
    const auto move = [&](auto* device, std::byte* host) {
      void* const there = const_cast<std::remove_const_t<std::remove_pointer_t<decltype(device)>>*>(
          device + first * row_);
      const std::size_t bytes = n * sizeof *device;
      out ? copy_out(host, there, bytes, stream_) : copy_in(there, host, bytes, stream_);
    };
    move(cells, message);
    move(ids, message + n * sizeof(Position));
  }

  RankRing& ranks_;
  std::size_t row_;  // slots
  int margin_;
  std::unique_ptr<Rows> below_, above_;
  std::shared_ptr<Rows> out_, in_;
  bool shares_ = false;                 // out_ is memory that neighbors read
  Rows* from_[2] = {nullptr, nullptr};  // where what comes from below and above lies
  int turn_ = 0;
  // High priority: tiles at the edge must not queue behind those inside.
  Stream stream_{Priority::highest};
  Event event_, order_;
  Crossing c_{};
};

}  // namespace
}  // namespace manymove::harddisk
