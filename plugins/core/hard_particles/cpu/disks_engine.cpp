// SPDX-License-Identifier: BSD-3-Clause
// The CPU engine: threads over tiles.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "../../runtime/parallel_for.h"
#include "../ranks.h"
#include "../rows.h"
#include "../disks_state.h"
#include "disks_kernels.h"

namespace manymove::hard_particles {
namespace {

class CpuEngine final : public Engine {
 public:
  CpuEngine(State state, int threads)
      : state_(std::move(state)),
        local_(state_.local()),
        pool_(threads),
        loop_(pool_.size()),
        kernels_(best_level<Kernels>(MANYMOVE_LEVELS)),
        workers_(pool_.size()) {
    const Geometry& g = state_.geometry;
    spare_cells_.resize(state_.data.cells.size());
    spare_ids_.resize(state_.data.ids.size());
    for (Worker& worker : workers_) {
      worker.tile.resize(static_cast<std::size_t>(kSlots) * g.plane);
      worker.order.resize(static_cast<std::size_t>(kSlots) * g.plane);
      worker.count.resize(g.plane);
      worker.list.resize(static_cast<std::size_t>(4) * g.plane);
    }
  }

  void enqueue(std::uint64_t cycles) override {
    Snapshot& data = state_.data;
    for (std::uint64_t i = 0; i < cycles; ++i) {
      local_draw_ = draw_ = draw_cycle(state_.geometry, data.counters.cycles);
      for (Worker& worker : workers_) worker.tally = {};
      if (state_.strip)
        cycle_of_strip();
      else
        loop_.run(pool_, state_.geometry.tiles[0] * state_.geometry.tiles[1],
                  [this](int tile, int thread) {
                    one_tile(tile, tile_bounds(local_.cells, local_.tiles, tile), thread);
                  });
      data.cells.swap(spare_cells_);
      data.ids.swap(spare_ids_);
      move_origin(state_, draw_, data.origin);
      ++data.counters.cycles;
      for (const Worker& worker : workers_) {
        data.counters.trial_moves += worker.tally.trial_moves;
        data.counters.accepted_moves += worker.tally.accepted_moves;
        if (worker.tally.corrupt)
          throw std::runtime_error("a cell holds more disks than fit: the state is corrupt");
      }
      if (rows_.wants_sample(data.counters.cycles)) sample();
      rows_.end_cycle(data.counters.cycles);
    }
  }

  void set_sampling(const Sampling& sampling) override {
    rows_.begin(sampling, static_cast<std::size_t>(sampling.bins), state_.data.counters.cycles);
    for (Worker& worker : workers_) worker.bins.assign(sampling.bins, 0);
  }

  std::vector<std::uint64_t> take_rows(std::vector<std::uint64_t>& cycles) override {
    return rows_.take(cycles);
  }

  bool same_positions(const HostParticles& host) const override {
    return written_ == (host.double_precision ? trace<double>(host) : trace<float>(host));
  }
  void write_positions(const HostParticles& host) override {
    if (host.double_precision)
      write<double>(host);
    else
      write<float>(host);
    last_write_ = state_.data.counters.cycles;
  }

  std::vector<std::uint64_t> contact_histogram(double bin_width, int bins) const override {
    const ContactBins law = contact_bins(state_.geometry, {bin_width, bins, 0, 0});
    std::vector<std::vector<std::uint32_t>> parts(pool_.size(), std::vector<std::uint32_t>(bins));
    look_at_neighbors();
    count_pairs(law, [&](int thread) { return parts[thread].data(); });
    std::vector<std::uint64_t> counts(static_cast<std::size_t>(bins));
    for (const auto& part : parts)
      std::transform(part.begin(), part.end(), counts.begin(), counts.begin(), std::plus<>());
    return counts;
  }

  Counters counters() const override { return state_.data.counters; }
  Grid grid() const override { return grid_of(state_); }
  Repair repair() const override { return state_.repair; }
  std::size_t particles() const override { return state_.particles; }
  double occupied() const override { return occupied_share(state_, state_.data); }
  void positions(double* xy) const override { export_positions(state_, state_.data, xy); }
  double max_overlap() const override { return deepest_overlap(state_, state_.data); }
  std::uint64_t state_hash() const override { return hash_of(state_, state_.data); }
  Snapshot snapshot() const override {
    if (!state_.strip) return state_.data;
    Snapshot strip;
    strip.counters = state_.data.counters;
    strip.origin = state_.data.origin;
    strip.first_row = state_.strip->first_row();
    const auto first = static_cast<std::ptrdiff_t>(state_.first_row() * state_.row_slots());
    const auto end = first + static_cast<std::ptrdiff_t>(state_.rows() * state_.row_slots());
    const Snapshot& data = state_.data;
    strip.cells.assign(data.cells.begin() + 2 * first, data.cells.begin() + 2 * end);
    strip.ids.assign(data.ids.begin() + first, data.ids.begin() + end);
    return strip;
  }

  std::array<double, 2> bond_order(double reach) const override {
    const auto reach2 = static_cast<float>(reach * reach / (state_.unit * state_.unit));
    std::vector<std::array<double, 2>> rows(state_.rows());
    look_at_neighbors();
    for_each_item(pool_, state_.rows(), [&](int item, int) {
      const int row = state_.first_row() + item;
      double sum[2] = {0, 0};
      for_row(row, [&](int column, int slot) {
        double psi[2];
        hard_particles::bond_order(local_, cells(), column, row, slot, reach2, psi);
        sum[0] += psi[0];
        sum[1] += psi[1];
      });
      rows[item] = {sum[0], sum[1]};
    });
    return mean_of(rows.data()->data(), rows.size(), state_.particles);
  }

 private:
  struct alignas(128) Worker {
    std::vector<Position> tile;
    std::vector<std::uint8_t> order;
    std::vector<std::uint32_t> count;
    std::vector<std::uint32_t> list;
    std::vector<std::uint32_t> bins;
    TileTally tally{};
  };

  const Position* cells() const {
    return reinterpret_cast<const Position*>(state_.data.cells.data());
  }

  template <class Function>
  void for_row(int row, Function&& function) const {
    for (int column = 0; column < state_.geometry.cells[0]; ++column)
      for (int slot = 0; slot < kSlots; ++slot) {
        const std::size_t at =
            (static_cast<std::size_t>(row) * state_.geometry.cells[0] + column) * kSlots + slot;
        if (state_.data.ids[at] >= 0) function(column, slot);
      }
  }

  void one_tile(int tile, const TileBounds& bounds, int thread) {
    Worker& w = workers_[thread];
    const std::size_t first = state_.first_row() * state_.row_slots();
    const CycleBuffers buffers{cells(), state_.data.ids.data(),
                               reinterpret_cast<Position*>(spare_cells_.data()) + first,
                               spare_ids_.data() + first};
    kernels_.run_tile(local_, local_draw_, tile, bounds, buffers,
                      {w.tile.data(), w.order.data(), w.count.data(), w.list.data()}, w.tally);
  }

  void cycle_of_strip() {
    Strip& strip = *state_.strip;
    const int rows = strip.rows();
    cross(strip.advance(draw_.shift_cells[1]), rows);
    local_draw_ = local_draw(strip, draw_);
    const Part part = part_of(strip, state_.geometry, 0);
    loop_.run(pool_, part.tiles[0] * strip.tile_rows(), [&](int item, int thread) {
      const int tile = tile_of(part, item);
      one_tile(tile, tile_bounds(part, tile), thread);
    });
  }

  // Sends rows of the strip, of `rows` rows, to the neighbors and takes theirs into the margins.
  void cross(const Crossing& c, int rows) const {
    const std::size_t slots = state_.row_slots();
    hard_particles::cross(*state_.ranks, c, state_.first_row(), rows,
                          {{{state_.data.cells.data(), slots * sizeof(Position)},
                            {state_.data.ids.data(), slots * sizeof(std::int32_t)}}},
                          messages_);
  }

  // Pairs reach two rows of cells beyond the strip.
  void look_at_neighbors() const {
    if (state_.strip) cross({2, 2, 2, 2}, state_.rows());
  }

  template <class Real>
  void write(const HostParticles& host) {
    const Geometry& g = state_.geometry;
    const Frame f = frame_of(state_, state_.data.origin);
    const double reach = reach_of(state_, last_write_, state_.data.counters.cycles);
    auto* const position = static_cast<HostPair<Real>*>(host.position);
    std::atomic<std::uint64_t> sum{0};
    for_each_item(pool_, g.cells[1], [&](int row, int) {
      std::uint64_t part = 0;
      for_row(row, [&](int column, int slot) {
        const std::size_t from =
            (static_cast<std::size_t>(row) * g.cells[0] + column) * kSlots + slot;
        const auto id = static_cast<std::uint32_t>(state_.data.ids[from]);
        const HostPair<Real> r = host_position<Real>(g, f, column, row, cells()[from]);
        move_host_particle(f, reach, position, host.image, host.index[id], r);
        part += trace_of(id, r);
      });
      sum += part;
    });
    written_ = sum;
  }
  template <class Real>
  std::uint64_t trace(const HostParticles& host) const {
    const auto* const position = static_cast<const HostPair<Real>*>(host.position);
    constexpr std::size_t kPart = 4096;
    std::atomic<std::uint64_t> sum{0};
    for_each_item(
        pool_, static_cast<int>((state_.particles + kPart - 1) / kPart), [&](int part, int) {
          const std::size_t end = std::min(state_.particles, (part + std::size_t{1}) * kPart);
          std::uint64_t mine = 0;
          for (std::size_t i = part * kPart; i < end; ++i)
            mine += trace_of(host.tag[i], position[2 * i]);
          sum += mine;
        });
    return sum;
  }

  // Adds up the pairs near contact in bins(thread).
  template <class Bins>
  void count_pairs(const ContactBins& law, Bins&& bins) const {
    for_each_item(pool_, state_.rows(), [&](int item, int thread) {
      const int row = state_.first_row() + item;
      std::uint32_t* const mine = bins(thread);
      for_row(row, [&](int column, int slot) {
        for_pairs<true>(local_, cells(), column, row, slot, [&](float dx, float dy) {
          const int bin = contact_bin(local_, law, dx, dy);
          if (bin >= 0) ++mine[bin];
        });
      });
    });
  }

  void sample() {
    look_at_neighbors();
    count_pairs(contact_bins(state_.geometry, rows_.sampling()),
                [this](int thread) { return workers_[thread].bins.data(); });
    for (Worker& worker : workers_)
      for (std::size_t i = 0; i < worker.bins.size(); ++i)
        rows_.row()[i] += std::exchange(worker.bins[i], 0);
  }

  mutable State state_;  // const functions fill a strip's margins
  Geometry local_;
  mutable ThreadPool pool_;
  SharedLoop loop_;  // over tiles, whose disks stay in the cache of a core
  Kernels kernels_;
  std::vector<Worker> workers_;
  std::vector<float> spare_cells_;
  std::vector<std::int32_t> spare_ids_;
  Draw draw_{}, local_draw_{};
  mutable std::vector<std::byte> messages_[4];  // to below, above; from below, above
  Rows rows_;
  std::uint64_t written_ = 0, last_write_ = kNever;  // trace and cycle of write_positions()
};

}  // namespace

std::unique_ptr<Engine> make_cpu_engine(State state, int threads) {
  return std::make_unique<CpuEngine>(std::move(state), threads);
}

}  // namespace manymove::hard_particles
