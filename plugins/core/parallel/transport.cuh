// SPDX-License-Identifier: BSD-3-Clause
// How bytes travel from the memory of one rank's GPU to another's. An engine asks for
// places, fills them with a kernel, starts the exchange and reads what has come with another
// kernel; it does not know which transport does it.
//
// Every call is made by all ranks, with segments that fit each other: rank a sends rank b as many
// bytes as b expects from a, and each pair of ranks has at most one segment in each direction.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../runtime/device.cuh"
#include "../runtime/waits.cuh"
#include "communicator.h"

namespace manymove {

// An engine of several ranks waits for its GPU, whose kernels may wait for those of other ranks.
// Throws RankFailure when another rank is silent or has failed.
class RankWaits {
 public:
  explicit RankWaits(Communicator& communicator) : watchdog_(communicator.watchdog()) {}

  // Polls tightly at first: ranks wait for a few steps in general, and the ghosts of the next step
  // wait for this host.
  void operator()(auto work, const char* what) const {
    const auto done = [&] { return has_ended(work, what); };
    Patience<> patience(0.2);
    for (int k = 1; !done(); ++k) {
      if (k % 64) continue;
      watchdog_.look();
      if (patience.is_over(false)) return watchdog_.wait(done);
      std::this_thread::yield();
    }
  }

 private:
  Watchdog& watchdog_;
};

// Waits until this rank's GPU has done all that its engine has asked for, or throws.
using Finish = std::function<void()>;

class Transport {
 public:
  // The communicator must outlive this object.
  Transport(Communicator& communicator, Finish finish)
      : communicator_(communicator), finish_(std::move(finish)) {}
  // What one rank sends to or receives from another. data, in memory that the device of this rank
  // can address and that belongs to the transport: where kernels put what is sent, and find what
  // has come. It is valid from place() to the next place().
  struct Segment {
    int rank;  // of the other side
    std::size_t bytes;
    char* data;
  };
  using Segments = std::vector<Segment>;

  // Local: a rank that has failed is destroyed while the others still run.
  virtual ~Transport() = default;
  // For people: what the bytes travel through.
  virtual std::string name() const = 0;
  // Collective, with the same number on all ranks: the bytes that a segment is likely to need.
  // Larger ones are sent too, perhaps more slowly.
  virtual void expect(std::size_t) {}
  // Sets `data` of the segments of the next exchange. Segments in memory of this rank follow each
  // other without a gap.
  virtual void place(Segments& sent, Segments& received) {
    place_in(sent, out_);
    place_in(received, in_);
  }
  // Sends after what is in the stream and receives before what comes there: the call itself may
  // return earlier. The segments belong to the last place().
  virtual void exchange(const Segments& sent, const Segments& received, cudaStream_t stream) = 0;
  // Local, after a failure: kernels of this rank stop waiting for other ranks, and what they should
  // have received is undefined. Nothing is exchanged any more.
  virtual void abandon() noexcept {}

 protected:
  // One after the other in a buffer, which grows if it has to.
  template <class Buffer>
  void place_in(Segments& segments, Buffer& memory) const {
    std::size_t total = 0;
    for (const Segment& segment : segments) total += segment.bytes;
    if (total > memory.size()) {
      finish_();
      memory = {};
      memory = Buffer(total + total / 8);
    }
    char* at = memory.data();
    for (Segment& segment : segments) {
      segment.data = at;
      at += segment.bytes;
    }
  }
  static std::vector<Communicator::Message> messages_of(const Segments& segments) {
    std::vector<Communicator::Message> found;
    for (const Segment& segment : segments)
      if (segment.bytes) found.push_back({segment.rank, segment.data, segment.bytes});
    return found;
  }

  Communicator& communicator_;
  const Finish finish_;
  DeviceBuffer<char> out_, in_;  // of the places
};

// Collective; the device of this rank is current. wish is one that is_transport() knows: "peer"
// (the memory of the other GPUs), "shared" (page-locked memory that the ranks of a host share),
// "nccl", "mpi" (the communicator, from GPU to GPU), "host" (page-locked memory and the
// communicator), or "auto": what the environment variable MANYMOVE_TRANSPORT names, and without it
// the fastest of these that is there. Throws std::invalid_argument, on all ranks, where it cannot
// be what was asked for.
std::unique_ptr<Transport> make_transport(Communicator& communicator, const std::string& wish,
                                          const Finish& finish);

// A transport, and the streams whose work may wait for other ranks. After a failure kernels may be
// left that wait for other ranks, and freeing memory would wait for these kernels: they are told to
// give up, here and in the destructor.
class GuardedTransport {
 public:
  // Collective. The streams must outlive this object.
  GuardedTransport(Communicator& communicator, std::vector<cudaStream_t> streams)
      : streams_(std::move(streams)),
        wait_(communicator),
        transport_(make_transport(communicator, "auto", [this] { finish("exchange"); })) {}
  ~GuardedTransport() { end(); }
  GuardedTransport(const GuardedTransport&) = delete;
  GuardedTransport& operator=(const GuardedTransport&) = delete;

  Transport* operator->() const { return transport_.get(); }
  void exchange(const Transport::Segments& sent, const Transport::Segments& received,
                cudaStream_t stream) {
    guarded([&] { transport_->exchange(sent, received, stream); });
  }
  // Waits for an event, or for all that is enqueued, with an eye on the other ranks. To be called
  // before CUDA waits, as in a download: CUDA does not know that another rank has failed.
  void wait(cudaEvent_t event, const char* what) {
    guarded([&] { wait_(event, what); });
  }
  void finish(const char* what) {
    guarded([&] {
      for (const cudaStream_t stream : streams_) wait_(stream, what);
    });
  }
  // Nothing is exchanged any more. Before memory is freed that kernels use. What is enqueued still
  // arrives, unless a rank has failed.
  void end() noexcept {
    try {
      if (transport_) finish("last exchange");
    } catch (...) {
    }
    give_up();
    transport_.reset();
  }

 private:
  void guarded(auto&& task) {
    try {
      task();
    } catch (...) {
      give_up();
      throw;
    }
  }
  void give_up() noexcept {
    if (!transport_) return;  // it is being made, or has ended
    transport_->abandon();
    for (const cudaStream_t stream : streams_) settles(stream);
  }

  const std::vector<cudaStream_t> streams_;
  const RankWaits wait_;
  std::unique_ptr<Transport> transport_;
};

// A CUDA-aware MPI reads and writes memory of the device. As with HostTransport, the calling thread
// waits for the device and for the other ranks.
class MpiTransport : public Transport {
 public:
  MpiTransport(Communicator& communicator, Finish finish)
      : Transport(communicator, std::move(finish)), wait_(communicator) {}

  std::string name() const override { return "CUDA-aware MPI"; }

  void exchange(const Segments& sent, const Segments& received, cudaStream_t stream) override {
    // What is sent has been written, and what came with the previous exchange has been read.
    wait_(stream, "rows for other ranks");
    exchange_messages(communicator_, messages_of(sent), messages_of(received), out_, in_);
  }

 private:
  const RankWaits wait_;
};

// The calling thread waits for the device and for the other ranks.
class HostTransport : public Transport {
 public:
  HostTransport(Communicator& communicator, Finish finish)
      : Transport(communicator, std::move(finish)), wait_(communicator) {}

  std::string name() const override { return "page-locked host memory and MPI"; }

  void exchange(const Segments& sent, const Segments& received, cudaStream_t stream) override {
    Segments out = sent, in = received;
    place_in(out, host_out_);
    place_in(in, host_in_);
    for (std::size_t k = 0; k < sent.size(); ++k)
      copy_out(out[k].data, sent[k].data, sent[k].bytes, stream);
    // Also completes the previous exchange's uploads from host_in_.
    wait_(stream, "copy for other ranks");
    exchange_messages(communicator_, messages_of(out), messages_of(in), host_out_, host_in_);
    for (std::size_t k = 0; k < received.size(); ++k)
      copy_in(received[k].data, in[k].data, received[k].bytes, stream);
  }

 private:
  const RankWaits wait_;
  PinnedBuffer<char> host_out_, host_in_;
};

}  // namespace manymove
