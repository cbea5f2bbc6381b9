// SPDX-License-Identifier: BSD-3-Clause
// The policy `Particles` on a CPU.
#include <algorithm>
#include <cstddef>
#include <utility>

#include "../constant_pressure/edges.h"
#include "../constant_pressure/volume.h"
#include "../grid.h"
#include "cpu_engine.h"

namespace manymove::hard_particles {
namespace {

// The memory of a thread's tile, which grows with the particles in it.
class TileMemory {
 public:
  TileMemory(int plane, int dimensions)
      : first_(static_cast<std::size_t>(plane) + 1),
        next_(plane),
        active_(static_cast<std::size_t>(plane) << dimensions) {}

  std::uint32_t* first() { return first_.data(); }
  Workspace workspace(std::size_t particles) {
    const std::size_t wanted = particles + 2 * kMostLanes;
    if (id_.size() < wanted) {
      for (auto* v : {&at_[0], &at_[1], &at_[2], &near_[0], &near_[1], &near_[2], &gap_})
        v->resize(wanted);
      label_.resize(wanted);
      id_.resize(wanted);
      near_id_.resize(wanted);
    }
    Workspace w{};
    w.first = first_.data();
    w.next = next_.data();
    w.active = active_.data();
    for (int a = 0; a < 3; ++a) {
      w.at[a] = at_[a].data();
      w.near[a] = near_[a].data();
    }
    w.label = label_.data();
    w.id = id_.data();
    w.gap = gap_.data();
    w.near_id = near_id_.data();
    return w;
  }

 private:
  std::vector<std::uint32_t> first_, next_, active_, id_, near_id_;
  std::vector<float> at_[3], near_[3], gap_;
  std::vector<Label> label_;
};

class CpuParticles final : public CpuEngine {
 public:
  CpuParticles(State state, int threads)
      : CpuEngine(std::move(state), threads),
        local_(state_.local()),
        law_(law_of(state_)),
        kernels_(
            best_level<Kernels>(MANYMOVE_LEVELS)
                .particles[state_.dimensions() - 2][static_cast<int>(state_.distances.contact)]),
        now_(cells_of(state_, state_.data)) {
    spare_.spheres.resize(now_.spheres.size());
    spare_.counts.resize(now_.counts.size());
    if (state_.strip && state_.swaps()) row_diameters_.resize(now_.spheres.size());
    for (int t = 0; t < pool_.size(); ++t)
      workers_.push_back({TileMemory(state_.geometry.plane, state_.dimensions()), 0, {}, {}});
    state_.data.places = {};  // the cells have them
    state_.data.indices = {};
  }

  void set_volume_sampling(std::uint64_t record) override {
    volumes_.begin(record, state_.data.counters.cycles);
  }
  std::vector<double> take_volumes(std::vector<std::uint64_t>& cycles) override {
    return volumes_.take(cycles);
  }
  TrialCounters volume_counters() const override {
    return {state_.data.volume_trials, state_.data.volume_accepted};
  }
  TrialCounters swap_counters() const override {
    return {state_.data.swap_trials, state_.data.swap_accepted};
  }

  void set_type_diameters(const std::vector<double>& diameters) override {
    state_.type_diameters = diameters;
  }

  double occupied() const override { return occupied_share(state_, now_.counts); }
  Snapshot snapshot() const override {
    Snapshot data = snapshot_of(state_, state_.data.counters, state_.data.origin,
                                now_.spheres.data(), now_.counts.data());
    copy_header(state_, data);
    if (state_.swaps()) data.diameters = diameters_of(state_, data);
    return data;
  }

 private:
  struct alignas(128) Worker {
    TileMemory memory;
    double least = 0;
    std::vector<Swapper> swappers;
    TrialCounters swaps;
  };

  // Index of the first cell of this rank's first row.
  std::size_t first_cell() const {
    return static_cast<std::size_t>(state_.first_row()) * state_.row_cells();
  }

  void make_cycle() override {
    const Draw draw = draw_cycle(state_, state_.data.counters.cycles);
    if (state_.strip) shift_strip(draw);
    const Draw local = local_draw(state_, draw);
    const Geometry& g = local_;
    const std::size_t first = first_cell();
    const CycleArrays arrays{now_.spheres.data(), now_.counts.data(),
                             spare_.spheres.data() + first * g.slots, spare_.counts.data() + first};
    loop_.run(pool_, state_.tiles(), [&](int item, int thread) {
      const int tile = tile_of(g, item);
      const TileBounds bounds =
          state_.dimensions() == 2 ? tile_bounds<2>(g, tile) : tile_bounds<3>(g, tile);
      TileMemory& memory = workers_[thread].memory;
      const std::size_t n = kernels_.count(g, local, bounds, arrays, memory.first());
      kernels_.run_tile(g, law_, local, tile, bounds, arrays, memory.workspace(n),
                        counted_[thread].moves);
    });
    std::swap(now_, spare_);
    move_origin(state_, draw, state_.data.origin);
  }

  void change_between_cycles() override {
    const std::uint64_t cycle = state_.data.counters.cycles;
    if (state_.swaps() && cycle % state_.parameters.swap_every == 0) {
      if (state_.dimensions() == 2)
        swap_diameters<2>();
      else
        swap_diameters<3>();
    }
    if (!state_.constant_pressure()) return;
    if (cycle % state_.parameters.volume_every == 0) {
      if (state_.parameters.edges_apart)
        change_edges_here();
      else
        change_box();
    }
    volumes_.end_cycle(cycle, volume_of(state_, state_.data.volume));
  }

  // The swap moves after a cycle, in its grid.
  template <int D>
  void swap_diameters() {
    if (state_.strip) cross_rows({1, 0, 0, 1}, state_.rows());
    const Geometry& g = local_;
    const SwapRules rules = swap_rules(state_, state_.data.counters.cycles);
    const Sphere* const spheres = now_.spheres.data() + first_cell() * g.slots;
    const std::uint32_t* const counts = now_.counts.data() + first_cell();
    for (Worker& worker : workers_) worker.swaps = {};
    for_each_item(pool_, state_.tiles(), [&](int item, int thread) {
      Worker& worker = workers_[thread];
      const int tile = tile_of(g, item);
      const TileBounds bounds = tile_bounds<D>(g, tile);
      double* const diameters = state_.diameters.data();
      for (int turn = 0; turn < 1 << D; ++turn) {
        const auto set = static_cast<int>(rules.order >> (3 * turn) & 7u);
        int n[3];
        const int cells = swap_cells<D>(bounds, set, n);
        if (cells == 0) continue;
        worker.swappers.resize(cells);
        for (int k = 0; k < cells; ++k) {
          int at[3];
          swap_cell<D>(n, set, k, at);
          const std::int64_t here = grid_cell<D>(g, bounds, at);
          worker.swappers[k].id = kNoParticle;
          if (counts[here] == 0) continue;
          const Sphere p = spheres[here * g.slots +
                                   swapper_slot<D>(g, bounds, tile, at, rules.cycle, counts[here])];
          int cell[3];
          for (int a = 0; a < 3; ++a) cell[a] = bounds.first[a] + at[a];
          worker.swappers[k] = {room_of<D, 1>(g, rules, cell, p, spheres, counts, diameters, 0),
                                p.id};
        }
        for (int round = 0; round < rules.rounds; ++round) {
          const int offset = swap_offset<D>(g, tile, rules.cycle, set, round, cells);
          for (int k = 0; k < cells; ++k) {
            const int other = swap_partner(offset, k, cells);
            const Swapper &a = worker.swappers[k], &b = worker.swappers[other];
            if (other <= k || a.id == kNoParticle || b.id == kNoParticle) continue;
            ++worker.swaps.trials;
            if (!swaps(rules, a, b, diameters[a.id], diameters[b.id])) continue;
            exchange(diameters[a.id], diameters[b.id]);
            exchange(state_.labels[a.id], state_.labels[b.id]);
            exchange(state_.parameters.diameters[a.id], state_.parameters.diameters[b.id]);
            ++worker.swaps.accepted;
          }
        }
      }
    });
    for (const Worker& worker : workers_) {
      state_.data.swap_trials += worker.swaps.trials;
      state_.data.swap_accepted += worker.swaps.accepted;
    }
  }

  // The trial changes of edges; then the cells follow.
  void change_edges_here() {
    Snapshot now = snapshot();
    if (!change_edges(state_, now)) return;
    law_ = law_of(state_);
    local_ = state_.local();
    state_.data.origin = now.origin;
    if (state_.strip)
      divide_this_again(std::move(now));
    else
      now_ = cells_of(state_, now);
    spare_.spheres.resize(now_.spheres.size());
    spare_.counts.resize(now_.counts.size());
  }

  // The trial changes of the volume; then the box and the cells follow.
  void change_box() {
    const double to = change_volume(state_, least_ratio());
    if (to == state_.data.volume) return;
    const State before = frame_of(state_);
    set_volume(state_, to);
    fill_diameters(state_);
    law_ = law_of(state_);
    local_ = state_.local();
    if (same_cells(before.geometry, state_.geometry)) return;
    Snapshot mine = snapshot_of(before, state_.data.counters, state_.data.origin,
                                now_.spheres.data(), now_.counts.data());
    if (state_.strip) {
      if (state_.swaps()) mine.diameters = diameters_of(state_, mine);
      divide_this_again(std::move(mine));
    } else {
      now_ = cells_of(state_, mine);
    }
    spare_.spheres.resize(now_.spheres.size());
    spare_.counts.resize(now_.counts.size());
  }

  // After a change of the grid. Collective.
  void divide_this_again(Snapshot mine) {
    now_ = divide_again(state_, std::move(mine));
    law_ = law_of(state_);
    local_ = state_.local();
    row_diameters_.resize(state_.swaps() ? now_.spheres.size() : 0);
  }

  double least_ratio() const {
    return with_particles(state_.dimensions(), state_.distances.contact, [&](auto policy) {
      constexpr int D = decltype(policy)::kDimensions;
      constexpr Contact C = decltype(policy)::kContact;
      // Pairs reach at most two rows beyond the strip, upwards.
      if (state_.strip) cross_rows({2, 0, 0, 2}, state_.rows());
      const Geometry& g = local_;
      const Sphere* const spheres = now_.spheres.data() + first_cell() * g.slots;
      const std::uint32_t* const counts = now_.counts.data() + first_cell();
      const Law reference = reference_law(state_);
      const LeastRatio wanted = least_ratio_wanted(state_);
      for (Worker& worker : workers_) worker.least = wanted.most;
      const int lines = (D == 3 ? g.cells[1] : 1) * state_.rows();
      for_each_item(pool_, lines, [&](int line, int thread) {
        int cell[3] = {0, line % g.cells[1], line / g.cells[1]};
        double least = workers_[thread].least;
        for (; cell[0] < g.cells[0]; ++cell[0])
          if (counts[static_cast<std::size_t>(line) * g.cells[0] + cell[0]])
            least = least_ratio_of<D, C, 1>(g, reference, wanted, spheres, counts, cell, 0, least);
        workers_[thread].least = least;
      });
      double least = wanted.most;
      for (const Worker& worker : workers_) least = std::min(least, worker.least);
      return least_of_ranks(state_, least);
    });
  }

  // The strip moves with the grid, and rows come from and go to the neighbors.
  void shift_strip(const Draw& draw) {
    const int rows = state_.rows();
    const Crossing crossing = state_.strip->advance(draw.shift_cells[state_.dimensions() - 1]);
    local_ = state_.local();
    cross_rows(crossing, rows);
  }
  void cross_rows(const Crossing& crossing, int rows) const {
    const std::size_t cells = state_.row_cells(), slots = cells * state_.geometry.slots;
    const int first = state_.first_row();
    if (state_.swaps()) {
      const auto pack = [&](std::size_t slot, std::uint32_t id) {
        row_diameters_[slot] = state_.parameters.diameters[id];
      };
      for_particles(first, crossing.to_below, pack);
      for_particles(first + rows - crossing.to_above, crossing.to_above, pack);
    }
    cross(*state_.ranks, crossing, first, rows,
          {{{now_.spheres.data(), slots * sizeof(Sphere)},
            {now_.counts.data(), cells * sizeof(std::uint32_t)},
            {row_diameters_.data(), state_.swaps() ? slots * sizeof(double) : 0}}},
          messages_);
    if (state_.swaps()) {
      const auto take = [&](std::size_t slot, std::uint32_t id) {
        set_diameter(state_, id, row_diameters_[slot]);
      };
      for_particles(first - crossing.from_below, crossing.from_below, take);
      for_particles(first + rows, crossing.from_above, take);
    }
  }
  // Calls task(slot, id) for the particles in rows of local storage.
  template <class Task>
  void for_particles(int first_row, int rows, Task&& task) const {
    const std::size_t first = static_cast<std::size_t>(first_row) * state_.row_cells();
    for (std::size_t at = first; at < first + static_cast<std::size_t>(rows) * state_.row_cells();
         ++at)
      for (std::uint32_t s = 0; s < now_.counts[at]; ++s) {
        const std::size_t slot = at * static_cast<std::size_t>(state_.geometry.slots) + s;
        task(slot, now_.spheres[slot].id);
      }
  }

  std::uint64_t write(const HostParticles& host) override {
    const Geometry& g = state_.geometry;
    const Frame frame = host_frame(state_);
    const auto as = [&](auto zero) {
      using Real = decltype(zero);
      return sum_over(static_cast<std::size_t>(g.cells[1]) * g.cells[2], [&](std::size_t row) {
        int cell[3] = {0, static_cast<int>(row % g.cells[1]), static_cast<int>(row / g.cells[1])};
        std::uint64_t part = 0;
        for (; cell[0] < g.cells[0]; ++cell[0]) {
          const std::size_t at = row * g.cells[0] + cell[0];
          for (std::uint32_t slot = 0; slot < now_.counts[at]; ++slot)
            part +=
                write_host_particle<Real>(g, frame, cell, now_.spheres[at * g.slots + slot], host);
        }
        return part;
      });
    };
    return host.double_precision ? as(0.0) : as(0.0f);
  }
  std::uint64_t trace(const HostParticles& host) const override {
    const auto as = [&](auto zero) {
      const auto* const position = static_cast<const HostPosition<decltype(zero)>*>(host.position);
      return sum_of_traces([&](std::size_t i) { return trace_of(host.tag[i], position[i]); });
    };
    return host.double_precision ? as(0.0) : as(0.0f);
  }

  void count_pairs(const Sampling& sampling) const override {
    // Pairs reach at most two rows beyond the strip, upwards.
    if (state_.strip) cross_rows({2, 0, 0, 2}, state_.rows());
    const Geometry& g = local_;
    const ContactBins law = contact_bins(state_, sampling);
    with_particles(state_.dimensions(), state_.distances.contact, [&](auto policy) {
      constexpr int D = decltype(policy)::kDimensions;
      const int in_row = D == 3 ? g.cells[1] : 1;  // lines of cells along x
      for_each_item(pool_, in_row * state_.rows(), [&](int item, int thread) {
        std::vector<std::uint32_t>& bins = counted_[thread].bins;
        const int line = in_row * state_.first_row() + item;
        int cell[3] = {0, line % g.cells[1], line / g.cells[1]};
        for (; cell[0] < g.cells[0]; ++cell[0]) {
          const std::size_t at = static_cast<std::size_t>(line) * g.cells[0] + cell[0];
          for (int slot = 0; slot < static_cast<int>(now_.counts[at]); ++slot)
            for_pairs<D>(g, now_.spheres.data(), now_.counts.data(), law.range, cell, slot,
                         [&](std::uint32_t i, std::uint32_t j, float dx, float dy, float dz) {
                           const int bin =
                               contact_bin<decltype(policy)::kContact>(law_, law, i, j, dx, dy, dz);
                           if (bin >= 0) ++bins[bin];
                         });
        }
      });
    });
  }

  Geometry local_;  // of this rank
  Law law_;         // its tables are in state_
  const ParticleKernels kernels_;
  mutable Cells now_;                          // const functions fill a strip's margins
  mutable std::vector<double> row_diameters_;  // [stored cells][slots], with swap moves on ranks
  Cells spare_;
  mutable std::vector<Worker> workers_;
  VolumeRows volumes_;
};

}  // namespace

std::unique_ptr<Engine> make_cpu_particles(State state, int threads) {
  return std::make_unique<CpuParticles>(std::move(state), threads);
}

}  // namespace manymove::hard_particles
