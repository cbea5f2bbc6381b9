// SPDX-License-Identifier: BSD-3-Clause
// The policy `EqualDisks` on a CPU.
#include "cpu_engine.h"

namespace manymove::hard_particles {
namespace {

using namespace equal_disks;
using equal_disks::ContactBins, equal_disks::CycleArrays, equal_disks::Draw, equal_disks::Geometry,
    equal_disks::StripView, equal_disks::TileBounds, equal_disks::Workspace;

class CpuDisks final : public CpuEngine {
 public:
  CpuDisks(State state, int threads)
      : CpuEngine(std::move(state), threads),
        geometry_(whole_geometry()),
        local_(geometry_of(state_)),
        run_tile_(best_level<Kernels>(MANYMOVE_LEVELS).disks),
        memory_(pool_.size()) {
    spare_cells_.resize(state_.data.cells.size());
    spare_ids_.resize(state_.data.ids.size());
    const auto plane = static_cast<std::size_t>(local_.plane);
    for (TileMemory& memory : memory_) {
      memory.tile.resize(kSlots * plane);
      memory.order.resize(kSlots * plane);
      memory.count.resize(plane);
      memory.list.resize(4 * plane);
    }
  }

  double occupied() const override {
    std::vector<std::uint32_t> counts(state_.data.ids.size() / kSlots);
    for (std::size_t cell = 0; cell < counts.size(); ++cell)
      counts[cell] = state_.data.ids[cell * kSlots] >= 0;
    return occupied_share(state_, counts);
  }
  Snapshot snapshot() const override {
    const Snapshot& data = state_.data;
    if (!state_.strip) return data;
    Snapshot strip;
    strip.counters = data.counters;
    strip.origin = data.origin;
    strip.first_row = state_.strip->first_row();
    const auto first = static_cast<std::ptrdiff_t>(state_.first_row() * row_slots(state_));
    const auto end = first + static_cast<std::ptrdiff_t>(state_.rows() * row_slots(state_));
    strip.cells.assign(data.cells.begin() + 2 * first, data.cells.begin() + 2 * end);
    strip.ids.assign(data.ids.begin() + first, data.ids.begin() + end);
    return strip;
  }
  std::array<double, 2> bond_order(double reach) const override {
    const auto reach2 = static_cast<float>(reach * reach / (state_.unit * state_.unit));
    std::vector<std::array<double, 2>> rows(static_cast<std::size_t>(state_.rows()));
    look_at_neighbors();
    for_each_item(pool_, state_.rows(), [&](int item, int) {
      const int row = state_.first_row() + item;
      std::array<double, 2> sum{};
      for_row(row, [&](int column, int slot) {
        double psi[2];
        equal_disks::bond_order(local_, cells(), column, row, slot, reach2, psi);
        sum[0] += psi[0];
        sum[1] += psi[1];
      });
      rows[static_cast<std::size_t>(item)] = sum;
    });
    return mean_of(rows, state_.particles);
  }

 private:
  struct alignas(128) TileMemory {
    std::vector<Position> tile;
    std::vector<std::uint8_t> order;
    std::vector<std::uint32_t> count, list;
  };

  // The draws are those of the whole grid.
  Geometry whole_geometry() const {
    Geometry g = geometry_of(state_);
    g.cells[1] = state_.geometry.cells[1];
    return g;
  }
  const Position* cells() const {
    return reinterpret_cast<const Position*>(state_.data.cells.data());
  }
  // Calls function(column, slot) for the disks in a row of local storage.
  template <class Function>
  void for_row(int row, Function&& function) const {
    for (int column = 0; column < local_.cells[0]; ++column)
      for (int slot = 0; slot < kSlots; ++slot)
        if (state_.data.ids[slot_at(row, column, slot)] >= 0) function(column, slot);
  }
  std::size_t slot_at(int row, int column, int slot) const {
    return (static_cast<std::size_t>(row) * local_.cells[0] + column) * kSlots + slot;
  }

  void make_cycle() override {
    Snapshot& data = state_.data;
    const Draw draw = EqualDisks::draw(geometry_, data.counters.cycles);
    if (state_.strip) {
      Strip& strip = *state_.strip;
      const int rows = strip.rows();
      cross_rows(strip.advance(draw.shift_cells[1]), rows);
      const Draw local = local_draw(strip, draw);
      const StripView part = view_of(strip, state_, 0);
      loop_.run(pool_, part.tiles[0] * strip.tile_rows(), [&](int item, int thread) {
        const int tile = tile_of(part, item);
        run_tile(local, tile, tile_bounds(part, tile), thread);
      });
    } else {
      loop_.run(pool_, local_.tiles[0] * local_.tiles[1], [&](int tile, int thread) {
        run_tile(draw, tile, tile_bounds(local_.cells, local_.tiles, tile), thread);
      });
    }
    data.cells.swap(spare_cells_);
    data.ids.swap(spare_ids_);
    move_origin(state_, draw, data.origin);
  }
  void run_tile(const Draw& draw, int tile, const TileBounds& bounds, int thread) {
    TileMemory& m = memory_[static_cast<std::size_t>(thread)];
    const std::size_t first = state_.first_row() * row_slots(state_);
    const CycleArrays arrays{cells(), state_.data.ids.data(),
                             reinterpret_cast<Position*>(spare_cells_.data()) + first,
                             spare_ids_.data() + first};
    run_tile_(local_, draw, tile, bounds, arrays,
              {m.tile.data(), m.order.data(), m.count.data(), m.list.data()},
              counted_[static_cast<std::size_t>(thread)].moves);
  }

  // Sends rows of the strip, of `rows` rows, to the neighbors and takes theirs into the margins.
  void cross_rows(const Crossing& crossing, int rows) const {
    const std::size_t slots = row_slots(state_);
    cross(*state_.ranks, crossing, state_.first_row(), rows,
          {{{state_.data.cells.data(), slots * sizeof(Position)},
            {state_.data.ids.data(), slots * sizeof(std::int32_t)}}},
          messages_);
  }
  // Pairs reach two rows of cells beyond the strip.
  void look_at_neighbors() const {
    if (state_.strip) cross_rows({2, 2, 2, 2}, state_.rows());
  }

  void count_pairs(const Sampling& sampling) const override {
    const ContactBins law = contact_bins(local_, sampling);
    look_at_neighbors();
    for_each_item(pool_, state_.rows(), [&](int item, int thread) {
      const int row = state_.first_row() + item;
      std::uint32_t* const bins = counted_[static_cast<std::size_t>(thread)].bins.data();
      for_row(row, [&](int column, int slot) {
        for_pairs<true>(local_, cells(), column, row, slot, [&](float dx, float dy) {
          const int bin = contact_bin(local_, law, dx, dy);
          if (bin >= 0) ++bins[bin];
        });
      });
    });
  }

  std::uint64_t write(const HostParticles& host) override {
    const std::uint64_t trace =
        host.double_precision ? write_as<double>(host) : write_as<float>(host);
    last_write_ = state_.data.counters.cycles;
    return trace;
  }
  template <class Real>
  std::uint64_t write_as(const HostParticles& host) {
    const Frame f = host_frame(state_);
    const double reach = reach_of(state_, last_write_, state_.data.counters.cycles);
    auto* const position = static_cast<HostPair<Real>*>(host.position);
    return sum_over(static_cast<std::size_t>(local_.cells[1]), [&](std::size_t item) {
      const auto row = static_cast<int>(item);
      std::uint64_t sum = 0;
      for_row(row, [&](int column, int slot) {
        const std::size_t from = slot_at(row, column, slot);
        const auto id = static_cast<std::uint32_t>(state_.data.ids[from]);
        const HostPair<Real> r = host_position<Real>(local_, f, column, row, cells()[from]);
        move_host_particle(f, reach, position, host.image, host.index[id], r);
        sum += trace_of(id, r);
      });
      return sum;
    });
  }
  std::uint64_t trace(const HostParticles& host) const override {
    const auto as = [&](auto zero) {
      const auto* const position = static_cast<const HostPair<decltype(zero)>*>(host.position);
      return sum_of_traces([&](std::size_t i) { return trace_of(host.tag[i], position[2 * i]); });
    };
    return host.double_precision ? as(0.0) : as(0.0f);
  }

  const Geometry geometry_, local_;  // of the whole, and of this rank
  const RunTile run_tile_;
  std::vector<TileMemory> memory_;
  std::vector<float> spare_cells_;
  std::vector<std::int32_t> spare_ids_;
  std::uint64_t last_write_ = kNever;  // cycle of the last write_positions()
};

}  // namespace

std::unique_ptr<Engine> make_cpu_disks(State state, int threads) {
  return std::make_unique<CpuDisks>(std::move(state), threads);
}

std::unique_ptr<Engine> make_cpu_engine(State state, int threads) {
  return state.equal_disks() ? make_cpu_disks(std::move(state), threads)
                             : make_cpu_particles(std::move(state), threads);
}

}  // namespace manymove::hard_particles
