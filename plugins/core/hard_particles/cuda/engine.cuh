// SPDX-License-Identifier: BSD-3-Clause
// The engine on a GPU: what both policies share. Their memory, kernels and launches are in disks.cu
// and particles.cu.
#pragma once

#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "../../runtime/device.cuh"
#include "../cells_of_disks.h"
#include "../state_engine.h"
#include "distributed/halo_exchange.cuh"
#include "host_particles.cuh"

namespace manymove::hard_particles {

// Policies' classes end with a BetweenCalls, and their destructors begin with end_exchange().
class CudaEngine : protected OnDevice, public StateEngine {
 public:
  std::string transport() const final { return halo_ ? halo_->transport() : ""; }
  bool same_positions(const HostParticles& host) const final {
    check_alone();
    const DeviceGuard here = use();
    host_.compare(state_, host, overlap_);
    return host_.same();
  }
  bool saw_plane() const final { return host_.saw_plane(); }
  bool enqueue_if_same(std::uint64_t cycles, const HostParticles& host) final {
    const DeviceGuard here = use();
    if (cycles == 0 || sampling_.every || state_.ranks || !can_undo(host))
      return Engine::enqueue_if_same(cycles, host);
    const auto before =
        std::make_tuple(state_.data.origin, state_.data.counters.cycles, host_.written, now_);
    enqueue_and_ask(cycles, host);
    const bool same = host_.answer(pending_);
    pending_ = cycles;
    if (!same)
      std::tie(state_.data.origin, state_.data.counters.cycles, host_.written, now_) = before;
    return same;
  }

  // The host decides about trial changes of the box, and counts those of diameters.
  bool runs_ahead() const final { return !state_.constant_pressure() && !state_.swaps(); }
  void start(std::uint64_t cycles) final {
    if (runs_ahead()) {
      const DeviceGuard here = use();
      copy_on_device(moves_before_.data(), moves_.data(), sizeof(MoveCounts), stream_);
      cycles_before_ = state_.data.counters.cycles;
    }
    StateEngine::start(cycles);
  }
  void take_back() final {
    const DeviceGuard here = use();
    finish();
    copy_on_device(moves_.data(), moves_before_.data(), sizeof(MoveCounts), stream_);
    state_.data.counters.cycles = cycles_before_;
  }
  void lead(cudaStream_t later) const final { order(stream_, later); }
  // The next cycle reads the present cells and writes the others, so that only the one after it has
  // to wait. If the host may change something between cycles, the next one waits, too.
  void follow(cudaStream_t earlier) const final {
    const DeviceGuard here = use();
    wait_for_readers();
    read_.record(earlier);
    cycles_to_readers_ = 2;
    if (!runs_ahead()) wait_for_readers();
  }

 protected:
  // most_rows: of histograms, kept on the device before they are fetched.
  CudaEngine(State state, int device, std::size_t most_rows)
      : OnDevice(device), StateEngine(std::move(state)), most_rows_(most_rows), moves_(2) {
    const Counters& before = state_.data.counters;
    seen_ = {before.trial_moves, before.accepted_moves, 0};
    const MoveCounts counts[2] = {seen_, {}};
    moves_.upload(counts, stream_);
  }

  // Whether an undivided engine without histograms can undo cycles if a comparison finds other
  // positions.
  virtual bool can_undo(const HostParticles& host) const = 0;
  // Enqueues a comparison, and cycles that write to `host` and do nothing if positions differ.
  virtual void enqueue_and_ask(std::uint64_t cycles, const HostParticles& host) = 0;
  // Enqueues a cycle of some tiles, from a tile of the whole grid on.
  virtual void launch_tiles(const Draw& local, int first_tile, int tiles, cudaStream_t stream) = 0;
  // The arrays of the present cells, by rows of local storage.
  virtual RowArrays rows_here() const = 0;
  // Rows of the strip for the neighbors, and then theirs.
  virtual void collect(const HaloRows& halo, int rows) const {
    halo_->collect(halo, rows, rows_here());
  }
  virtual void exchange(const HaloRows&, int) const { halo_->exchange(); }
  // Adds the pairs near contact to a row, with those of the neighbors' rows of cells.
  virtual void add_pairs(const Sampling& sampling, std::uint64_t* row) const = 0;

  Counters own_counters() const final {
    const DeviceGuard here = use();
    if (pending_) {
      finish();
      check(cudaStreamSynchronize(stream_), "cycle");
      moves_.download(&seen_, stream_, 1);
      pending_ = 0;
    }
    if (seen_.corrupt)
      throw std::runtime_error(
          text_of("a cell holds more ", state_.noun(), "s than fit: the state is corrupt"));
    return {state_.data.counters.cycles, seen_.trial_moves, seen_.accepted_moves};
  }

  // ---- rows of histograms: a ring of them on the device ----
  void begin_rows(std::size_t size) final {
    const DeviceGuard here = use();
    ring_ = DeviceBuffer<std::uint64_t>((most_rows_ + 1) * size);
    if (size) ring_.clear(stream_);
    row_size_ = size;
    used_ = 0;
    ended_.clear();
  }
  void add_sample() final { add_pairs(sampling_, present_row()); }
  std::uint64_t* present_row() { return ring_.data() + used_ * row_size_; }
  // Whether the end of the present row waits for the device, or clears the ring.
  bool row_needs_ring() const { return !row_is_complete() || used_ + 1 == most_rows_; }
  void end_row(bool complete) final {
    if (!complete)
      ring_.clear(stream_);  // nothing else is in it yet
    else if (++used_ == most_rows_)
      fetch_rows();
  }
  std::vector<std::uint64_t> ended_rows() final {
    const DeviceGuard here = use();
    if (used_) fetch_rows();
    return std::exchange(ended_, {});
  }
  std::vector<std::uint64_t> histogram(const Sampling& sampling) const final {
    const DeviceGuard here = use();
    DeviceBuffer<std::uint64_t> row(row_size(sampling));
    row.clear(stream_);
    add_pairs(sampling, row.data());
    check_launch();
    finish();
    return row.values(stream_);
  }

  // Draws the next cycle and counts it; the cells are still those before it. The strip advances
  // before the origin, because its home is a row of the former grid.
  Draw begin_cycle() {
    if (cycles_to_readers_ > 1)
      --cycles_to_readers_;
    else
      wait_for_readers();
    const Draw draw = draw_cycle(state_, state_.data.counters.cycles);
    if (state_.strip) {
      former_rows_ = state_.strip->rows();
      crossing_ = advance_strip(state_, draw);
    }
    move_origin(state_, draw);
    ++state_.data.counters.cycles;
    return draw;
  }

  // ---- several ranks (distributed/halo_exchange.cuh) ----
  void begin_exchange() {
    if (state_.strip)
      halo_ =
          std::make_unique<HaloExchange>(*state_.ranks, state_.first_row(), rows_here(), stream_);
  }
  // Before the memory that it uses is freed.
  void end_exchange() {
    const DeviceGuard here = use();
    wait_for_readers();
    halo_.reset();
  }
  // Waits for what the engine has enqueued, with an eye on the other ranks.
  void finish() const {
    if (halo_) halo_->finish();
  }
  // The tiles that need nothing from the neighbors are at work while rows are on their way.
  void cycle_of_strip(const Draw& draw) {
    const Strip& strip = *state_.strip;
    const int in_row = state_.tiles_in_row();
    const Draw local = local_draw(state_, draw);
    const int below = strip.waiting_below(), above = strip.tile_rows() - strip.waiting_above();
    const auto launch_rows = [&](int first, int end, cudaStream_t stream) {
      if (end > first)
        launch_tiles(local, strip.tile_row(first) * in_row, (end - first) * in_row, stream);
    };
    collect(crossing_, former_rows_);
    launch_rows(below, above, stream_);
    exchange(crossing_, former_rows_);
    launch_rows(0, below, halo_->stream());
    launch_rows(above, strip.tile_rows(), halo_->stream());
    halo_->join();
    halo_->pace();
  }
  void fetch_neighbors(const HaloRows& halo) const {
    if (!halo_) return;
    collect(halo, state_.rows());
    exchange(halo, state_.rows());
    halo_->join();
  }

  const std::size_t most_rows_;
  Stream stream_;
  Event order_;
  int now_ = 0;                               // which of two copies of the cells is the present one
  DeviceBuffer<MoveCounts> moves_;            // the counts, and those of a cycle that may not count
  DeviceBuffer<MoveCounts> moves_before_{1};  // the last start()
  std::uint64_t cycles_before_ = 0;           // likewise
  mutable MoveCounts seen_{};                 // the counts as last fetched
  mutable std::uint64_t pending_ = 0;         // cycles that may not have ended yet
  std::unique_ptr<HaloExchange> halo_;
  HaloRows crossing_{};  // at the edges of the strip in this cycle, in which it had so many rows
  int former_rows_ = 0;
  mutable HostTraces host_{stream_};
  // Whether a comparison, and a cycle of equal disks, may begin before the former kernel has ended.
  bool overlap_ = false;

 private:
  // What is enqueued from now on waits for those who read the cells, see follow().
  void wait_for_readers() const {
    if (std::exchange(cycles_to_readers_, 0)) read_.hold(stream_);
  }
  // What is enqueued in one stream from now on waits for what is in another.
  void order(cudaStream_t earlier, cudaStream_t later) const {
    const DeviceGuard here = use();
    order_.record(earlier);
    order_.hold(later);
  }
  // Fetches the rows that have ended; the one that is being filled becomes the first.
  void fetch_rows() {
    const std::size_t count = used_ * row_size_;
    finish();
    ended_.resize(ended_.size() + count);
    ring_.download(ended_.data() + ended_.size() - count, stream_, count);
    copy_on_device(ring_.data(), ring_.data() + count, row_size_ * sizeof(std::uint64_t), stream_);
    check(cudaMemsetAsync(ring_.data() + row_size_, 0, count * sizeof(std::uint64_t), stream_),
          "rows");
    used_ = 0;
  }

  Event read_;                         // the end of follow()'s stream
  mutable int cycles_to_readers_ = 0;  // cycles until one overwrites what is read; 0: no readers
  DeviceBuffer<std::uint64_t> ring_;
  std::size_t row_size_ = 0, used_ = 0;  // rows that have ended
  std::vector<std::uint64_t> ended_;
};

std::unique_ptr<Engine> make_cuda_particles(State state, int device);

}  // namespace manymove::hard_particles
