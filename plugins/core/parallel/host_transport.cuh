// SPDX-License-Identifier: BSD-3-Clause
// Segments travel through page-locked memory of the hosts and through their communicator.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "rank_waits.cuh"
#include "transport.cuh"

namespace manymove {

// The calling thread waits for the device and for the other ranks.
class HostTransport : public Transport {
 public:
  HostTransport(Communicator& communicator, Finish finish)
      : Transport(communicator, std::move(finish)), wait_(communicator) {}

  std::string name() const override { return "page-locked host memory and MPI"; }

  void exchange(const Segments& sent, const Segments& received, cudaStream_t stream) override {
    const auto out = on_host(sent, out_), in = on_host(received, in_);
    for (std::size_t k = 0; k < sent.size(); ++k)
      copy_out(out[k].data, sent[k].data, sent[k].bytes, stream);
    // Also completes the previous exchange's uploads from in_.
    wait_(stream, "copy for other ranks");
    try {
      communicator_.exchange(out, in);
    } catch (...) {
      keep_for_ever(out_, in_);
      throw;
    }
    for (std::size_t k = 0; k < received.size(); ++k)
      copy_in(received[k].data, in[k].data, received[k].bytes, stream);
  }

 private:
  // One after the other in memory.
  std::vector<Communicator::Message> on_host(const Segments& segments, PinnedBuffer<char>& memory) {
    std::size_t total = 0;
    for (const Segment& segment : segments) total += segment.bytes;
    if (total > memory.size()) {
      finish_();
      memory = {};
      memory = PinnedBuffer<char>(total + total / 8);
    }
    char* at = memory.data();
    std::vector<Communicator::Message> messages;
    for (const Segment& segment : segments) {
      messages.push_back({segment.rank, at, segment.bytes});
      at += segment.bytes;
    }
    return messages;
  }

  const RankWaits wait_;
  PinnedBuffer<char> out_, in_;
};

}  // namespace manymove
