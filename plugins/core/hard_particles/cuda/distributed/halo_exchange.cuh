// SPDX-License-Identifier: BSD-3-Clause
// Rows of a strip on their way between this rank's GPU and its neighbors', in a stream of their
// own, while the cycle's tiles that need none of them are at work.
#pragma once

#include <algorithm>
#include <cstdint>

#include "../../../parallel/transport.cuh"
#include "../../../runtime/device.cuh"
#include "../../halo.h"

namespace manymove::hard_particles {
namespace {

constexpr int kCopyThreads = 256;
constexpr std::size_t kPiece = sizeof(uint4);  // what a thread copies at once, if it can

// What one kernel copies; sizes are multiples of four bytes.
struct Pieces {
  static constexpr int kMost = 6;
  int count = 0;
  const void* from[kMost];
  void* to[kMost];
  unsigned units[kMost];
  bool wide[kMost];  // units of 16 bytes, otherwise of four

  void add(const void* source, void* target, std::size_t bytes) {
    const auto fits = [](const void* p) {
      return reinterpret_cast<std::uintptr_t>(p) % kPiece == 0;
    };
    from[count] = source;
    to[count] = target;
    wide[count] = fits(source) && fits(target) && bytes % kPiece == 0;
    units[count] = static_cast<unsigned>(bytes / (wide[count] ? kPiece : sizeof(unsigned)));
    ++count;
  }
};

template <class Unit>
__device__ void copy_units(const void* from, void* to, unsigned units) {
  for (unsigned i = blockIdx.x * kCopyThreads + threadIdx.x; i < units;
       i += gridDim.x * kCopyThreads)
    static_cast<Unit*>(to)[i] = static_cast<const Unit*>(from)[i];
}

__global__ void copy_kernel(const Pieces pieces) {
#pragma unroll
  for (int k = 0; k < Pieces::kMost; ++k)
    if (k < pieces.count) {
      if (pieces.wide[k])
        copy_units<uint4>(pieces.from[k], pieces.to[k], pieces.units[k]);
      else
        copy_units<unsigned>(pieces.from[k], pieces.to[k], pieces.units[k]);
    }
}

class HaloExchange {
 public:
  // Exchanges the halos of a strip whose tiles work in the stream `work`, with arrays like these.
  // Collective.
  HaloExchange(Communicator& ranks, int margin, const RowArrays& arrays, cudaStream_t work)
      : ranks_(ranks),
        below_(below(ranks_)),
        above_(above(ranks_)),
        row_{arrays[0].row, arrays[1].row, arrays[2].row},
        margin_(margin),
        work_(work),
        transport_(ranks_, {work_, stream_}) {
    transport_->expect((below_ == above_ ? 2 : 1) * bytes(margin_));
  }

  std::string transport() const { return transport_->name(); }
  // What must wait for the neighbors goes there: ahead of the tiles in `work`, which need nothing.
  cudaStream_t stream() const { return stream_; }

  // Once what is in `work` is done, collects the rows that the neighbors need, of a strip of `rows`
  // rows in these arrays.
  void collect(const HaloRows& c, int rows, const RowArrays& arrays) {
    arrays_ = arrays;
    // Two ranks are neighbors at both edges: what one sends below comes from above first.
    const Rows sent[2] = {{below_, margin_, c.to_below},
                          {above_, margin_ + rows - c.to_above, c.to_above}};
    from_[0] = {above_, margin_ + rows, c.from_above};
    from_[1] = {below_, margin_ - c.from_below, c.from_below};
    sent_ = segments_of(sent);
    received_ = segments_of(from_);
    transport_->place(sent_, received_);
    follow(stream_, work_);
    copy(sent, sent_, true);
  }
  // Exchanges them, and puts those of the neighbors into the margins. This thread waits for the
  // neighbors if the transport goes through it.
  void exchange() {
    transport_.exchange(sent_, received_, stream_);
    copy(from_, received_, false);
  }
  // What comes next in `work` waits for what is in stream().
  void join() { follow(work_, stream_); }

  // Called once per cycle: keeps the cycles that are enqueued ahead of the GPU few. Launches into a
  // full queue would wait for it, and so for the neighbors, without a watchdog.
  void pace() {
    if (++cycle_ % kAhead) return;
    const Event& event = paced_[cycle_ / kAhead % 2];
    transport_.wait(event, "cycle");
    event.record(work_);
  }
  // Waits for all that is enqueued.
  void finish() { transport_.finish("cycle"); }

 private:
  static constexpr unsigned kAhead = 16;

  // `count` rows from `first` on in the strip's storage, which go to a rank or come from it.
  struct Rows {
    int rank, first, count;
  };

  // Each array begins where wide units fit.
  static std::size_t padded(std::size_t bytes) { return (bytes + kPiece - 1) / kPiece * kPiece; }
  std::size_t bytes(int rows) const {
    const auto n = static_cast<std::size_t>(rows);
    return padded(n * row_[0]) + padded(n * row_[1]) + padded(n * row_[2]);
  }

  // One for each rank.
  Transport::Segments segments_of(const Rows (&rows)[2]) const {
    Transport::Segments all;
    for (const Rows& each : rows)
      if (each.count == 0)
        continue;
      else if (!all.empty() && all.back().rank == each.rank)
        all.back().bytes += bytes(each.count);
      else
        all.push_back({each.rank, bytes(each.count), nullptr});
    return all;
  }

  // Rows one after the other, of each one array after the other.
  void copy(const Rows (&rows)[2], const Transport::Segments& segments, bool out) {
    Pieces pieces;
    const auto add = [&](const RowArray& array, const Rows& each, char* message) {
      char* const here =
          static_cast<char*>(array.data) + static_cast<std::size_t>(each.first) * array.row;
      const std::size_t size = static_cast<std::size_t>(each.count) * array.row;
      out ? pieces.add(here, message, size) : pieces.add(message, here, size);
      return message + padded(size);
    };
    char* next = nullptr;
    auto segment = segments.begin();
    for (const Rows& each : rows) {
      if (each.count == 0) continue;
      if (!next || segment->rank != each.rank) next = (next ? ++segment : segment)->data;
      for (const RowArray& array : arrays_)
        if (array.row) next = add(array, each, next);
    }
    if (pieces.count == 0) return;
    const unsigned most = *std::max_element(pieces.units, pieces.units + pieces.count);
    const unsigned blocks = std::min(blocks_for(most, kCopyThreads), 128u);
    copy_kernel<<<blocks, kCopyThreads, 0, stream_>>>(pieces);
    check_launch();
  }

  void follow(cudaStream_t later, cudaStream_t earlier) {
    order_.record(earlier);
    order_.hold(later);
  }

  Communicator& ranks_;
  const int below_, above_;
  const std::array<std::size_t, 3> row_;  // bytes
  const int margin_;
  const cudaStream_t work_;
  // High priority: edge tiles must not queue behind interior tiles.
  const Stream stream_{Priority::highest};
  Event order_, paced_[2];
  unsigned cycle_ = 0;
  RowArrays arrays_{};
  Rows from_[2]{};
  Transport::Segments sent_, received_;
  GuardedTransport transport_;
};

}  // namespace
}  // namespace manymove::hard_particles
