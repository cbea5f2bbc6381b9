// SPDX-License-Identifier: BSD-3-Clause
// The engine on a GPU: what both policies share. Their memory, kernels and launches are in disks.cu
// and particles.cu.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../../runtime/device.cuh"
#include "../cells_of_disks.h"
#include "../host_particles.h"
#include "../state.h"
#include "device_rows.cuh"
#include "distributed/halo_exchange.cuh"

namespace manymove::hard_particles {

// A policy's class ends its constructor with made() and begins its destructor with leave().
class CudaEngine : protected OnDevice, public Engine {
 public:
  void set_sampling(const Sampling& sampling) final {
    const DeviceGuard here = use();
    rows_.begin(sampling, row_size(sampling), state_.data.counters.cycles);
  }
  std::vector<std::uint64_t> take_rows(std::vector<std::uint64_t>& cycles) final {
    const DeviceGuard here = use();
    return rows_.take(cycles);
  }
  std::vector<std::uint64_t> contact_histogram(double bin_width, int bins) const final {
    const DeviceGuard here = use();
    const Sampling sampling{bin_width, bins, 0, 0};
    std::vector<std::uint64_t> counts(row_size(sampling));
    DeviceBuffer<std::uint64_t> row(counts.size());
    row.clear(stream_);
    add_pairs(sampling, row.data());
    check_launch();
    finish();
    row.download(counts.data(), stream_);
    return counts;
  }

  Grid grid() const final { return grid_of(state_); }
  Repair repair() const final { return state_.repair; }
  std::size_t particles() const final { return state_.particles; }
  std::string transport() const final { return halo_ ? halo_->transport() : ""; }
  void positions(double* r) const final { export_positions(state_, placed(), r); }
  double max_overlap() const final { return deepest_overlap(state_, placed()); }
  std::uint64_t state_hash() const final { return hash_of(state_, placed()); }

 protected:
  // most_rows: of histograms, kept on the device before they are fetched.
  CudaEngine(State state, int device, std::size_t most_rows)
      : OnDevice(device),
        state_(std::move(state)),
        rows_(most_rows, stream_, [this] { finish(); }) {}
  void leave() {
    destroy();
    halo_.reset();  // before the memory that it uses
  }

  // Adds the pairs near contact to a row, with those of the neighbors' rows of cells.
  virtual void add_pairs(const Sampling& sampling, std::uint64_t* row) const = 0;

  std::size_t row_size(const Sampling& sampling) const {
    return static_cast<std::size_t>(sampling.bins) * state_.kinds();
  }
  // Waits for what other streams still have to do.
  void finish() const {
    if (halo_) halo_->finish();
  }
  // A cycle of a strip that has advanced: tiles(first, end, stream) enqueues those of the strip's
  // rows of tiles, of which the ones that need nothing from the neighbors are at work while rows
  // are on their way.
  template <class Collect, class Exchange, class Tiles>
  void run_strip(Collect&& collect, Exchange&& exchange, Tiles&& tiles) {
    const Strip& strip = *state_.strip;
    const int below = strip.waiting_below(), above = strip.tile_rows() - strip.waiting_above();
    collect();
    tiles(below, above, static_cast<cudaStream_t>(stream_));
    exchange();
    tiles(0, below, halo_->stream());
    tiles(above, strip.tile_rows(), halo_->stream());
    halo_->join();
    halo_->pace();
  }

  State state_;
  Stream stream_;
  int now_ = 0;  // which of two copies of the cells is the present one
  DeviceRows rows_;
  std::unique_ptr<HaloExchange> halo_;  // of a strip

 private:
  Snapshot placed() const { return with_places(state_, snapshot()); }
};

std::unique_ptr<Engine> make_cuda_disks(State state, int device);
std::unique_ptr<Engine> make_cuda_particles(State state, int device);

}  // namespace manymove::hard_particles
