// SPDX-License-Identifier: BSD-3-Clause
// What the device of a rank finds out and its host has to know.
#pragma once

#include "rank_streams.cuh"
#include "rebuild_kernels.cuh"

namespace manymove::dpd {

class RankReport {
 public:
  RankReport(std::size_t ranks, const RankStreams& streams)
      : streams_(streams), control_(1), flags_(1), bounds_(1), totals_(ranks) {
    answers_->total = totals_.data();
    control_.clear(streams.main);  // not given up, whatever the memory was used for before
    bounds_.clear(streams.main);
    forget();
    streams.finish("start");
  }

  Watch watch() const { return {control_.data(), report_.get()}; }
  Control* control() const { return control_.data(); }
  RebuildFlags* flags() const { return flags_.data(); }
  const DeviceBuffer<Bounds>& bounds() const { return bounds_; }
  DeviceBuffer<Bounds>& bounds() { return bounds_; }

  // No lists have expired, no particle is lost; a rank that has been given up stays so.
  void forget() {
    forget_kernel<<<1, 1, 0, streams_.main>>>(control_.data(), flags_.data());
    check_launch();
  }
  // Kernels do nothing from now on, and leave what should have come from other ranks alone.
  void give_up() noexcept {
    cudaMemsetAsync(&control_.data()->expired, 0xff, sizeof(Control::expired), streams_.rescue);
    settles(streams_.rescue);
  }

  // After what is in streams.work: answers() is complete once the event answered() is there.
  void answer() {
    answer_kernel<<<1, 1, 0, streams_.work>>>(control_.data(), flags_.data(), bounds_.data(),
                                              answers_.get());
    check_launch();
    answered_.record(streams_.work);
  }
  cudaEvent_t answered() const { return answered_; }
  void ask() {
    answer();
    streams_.wait(answered(), "answer");
  }
  Answers& answers() const { return *answers_; }

 private:
  const RankStreams& streams_;
  DeviceBuffer<Control> control_;
  MappedMemory<Report> report_;
  DeviceBuffer<RebuildFlags> flags_;
  DeviceBuffer<Bounds> bounds_;
  MappedMemory<Answers> answers_;
  PinnedBuffer<unsigned> totals_;
  Event answered_;
};

}  // namespace manymove::dpd
