// SPDX-License-Identifier: BSD-3-Clause
// The rows of histograms that an engine accumulates on a GPU while it runs; see ../rows.h.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "../../runtime/device.cuh"
#include "../engine.h"

namespace manymove::hard_particles {

class DeviceRows {
 public:
  // most: rows kept on the device before they are fetched. finish: waits for what other streams
  // still have to do.
  DeviceRows(std::size_t most, cudaStream_t stream, std::function<void()> finish)
      : most_(most), stream_(stream), finish_(std::move(finish)) {}

  void begin(const Sampling& sampling, std::size_t size, std::uint64_t cycle) {
    DeviceBuffer<std::uint64_t> ring((most_ + 1) * size);
    if (size) ring.clear(stream_);
    ring_.swap(ring);
    sampling_ = sampling;
    size_ = size;
    // A row of a single sample is complete wherever it begins.
    incomplete_ = sampling.record > sampling.every && cycle % sampling.record != 0;
    used_ = 0;
    rows_.clear();
    cycles_.clear();
  }
  const Sampling& sampling() const { return sampling_; }
  bool wants_sample(std::uint64_t cycle) const {
    return sampling_.every && cycle % sampling_.every == 0;
  }
  std::uint64_t* row() const { return ring_.data() + used_ * size_; }  // to which samples are added
  void end_cycle(std::uint64_t cycle) {
    if (!sampling_.record || cycle % sampling_.record != 0) return;
    if (incomplete_)
      ring_.clear(stream_);  // nothing else is in it yet
    else
      cycles_.push_back(cycle), ++used_;
    incomplete_ = false;
    if (used_ == most_) collect();
  }
  std::vector<std::uint64_t> take(std::vector<std::uint64_t>& cycles) {
    if (used_) collect();
    cycles = std::exchange(cycles_, {});
    return std::exchange(rows_, {});
  }

 private:
  // Fetches the finished rows; the one that is being filled becomes the first.
  void collect() {
    const std::size_t count = used_ * size_;
    finish_();
    rows_.resize(rows_.size() + count);
    ring_.download(rows_.data() + rows_.size() - count, stream_, count);
    check(cudaMemcpyAsync(ring_.data(), ring_.data() + count, size_ * sizeof(std::uint64_t),
                          cudaMemcpyDeviceToDevice, stream_),
          "rows");
    check(cudaMemsetAsync(ring_.data() + size_, 0, count * sizeof(std::uint64_t), stream_), "rows");
    used_ = 0;
  }

  const std::size_t most_;
  const cudaStream_t stream_;
  const std::function<void()> finish_;
  Sampling sampling_;
  bool incomplete_ = false;  // the row that is being filled began late
  DeviceBuffer<std::uint64_t> ring_;
  std::size_t size_ = 0, used_ = 0;  // of a row; rows that are finished
  std::vector<std::uint64_t> rows_, cycles_;
};

}  // namespace manymove::hard_particles
