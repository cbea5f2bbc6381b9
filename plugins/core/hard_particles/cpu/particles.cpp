// SPDX-License-Identifier: BSD-3-Clause
// The policy `Particles` on a CPU.
#include <algorithm>
#include <cstddef>
#include <utility>

#include "../../runtime/host_arrays.h"
#include "../constant_pressure/volume.h"
#include "../external_fields.h"
#include "../grid.h"
#include "../type_swaps.h"
#include "cpu_engine.h"

namespace manymove::hard_particles {
namespace {

// The memory of a thread's tile, which grows with the particles in it.
struct alignas(128) TileMemory {
  TileMemory(std::size_t plane, int dimensions) {
    by_cell.make(plane + 1, work.first);
    by_cell.make(plane, work.next);
    by_cell.make(plane << dimensions, work.active);
  }
  const Workspace& with_room(std::size_t particles) {
    const std::size_t wanted = particles + 2 * kMostLanes;
    if (room >= wanted) return work;
    by_particle = {};
    for (int a = 0; a < 3; ++a) by_particle.make(wanted, work.at[a], work.near[a]);
    by_particle.make(wanted, work.label, work.id, work.gap, work.near_id, work.near_type);
    room = wanted;
    return work;
  }

  Workspace work{};
  HostArrays by_cell, by_particle;
  std::size_t room = 0;
};

class CpuParticles final : public CpuEngine {
 public:
  CpuParticles(State state, int threads)
      : CpuEngine(std::move(state), threads),
        law_(law_of(state_)),
        kernels_(
            best_level<Kernels>(MANYMOVE_LEVELS)
                .particles[state_.dimensions() - 2][static_cast<int>(state_.distances.contact)]) {
    for (int t = 0; t < pool_.size(); ++t)
      memory_.emplace_back(state_.geometry.plane, state_.dimensions());
    candidates_.resize(pool_.size());
  }

 private:
  void run_tile(const Draw& draw, int tile, const TileBounds& bounds, const CycleArrays& arrays,
                int thread) override {
    TileMemory& memory = memory_[thread];
    const std::size_t n = kernels_.count(local_, draw, bounds, arrays, memory.work.first);
    const auto run = !arrays.fields                ? kernels_.run_tile
                     : arrays.fields->steps.number ? kernels_.run_tile_with_steps
                                                   : kernels_.run_tile_in_fields;
    run(local_, law_, draw, tile, bounds, arrays, memory.with_room(n), workers_[thread].moves);
  }

  const FieldView* fields() override {
    if (!state_.has_energies()) return nullptr;
    view_ = field_view(state_);
    return &view_;
  }

  void change_between_cycles() override {
    const std::uint64_t cycle = state_.data.counters.cycles;
    if (state_.swaps() && cycle % state_.parameters.swap_every == 0) {
      const bool flat = state_.dimensions() == 2;
      if (state_.swaps_types())
        flat ? swap_types<2>() : swap_types<3>();
      else
        flat ? swap_diameters<2>() : swap_diameters<3>();
    }
    if (state_.inserts_after(cycle)) insert_and_delete();
    if (state_.constant_pressure() && cycle % state_.parameters.volume_every == 0) {
      if (state_.parameters.edges_apart)
        change_edges_of_box();
      else
        change_box();
    }
    record_volume();
  }

  // The swap moves after a cycle, in its grid.
  template <int D>
  void swap_diameters() {
    fetch_neighbors({1, 0, 0, 1});
    const Geometry& g = local_;
    const SwapRules rules = swap_rules(state_, state_.data.counters.cycles);
    const Sphere* const spheres = now_.spheres.data() + first_cell() * g.slots;
    const std::uint32_t* const counts = now_.counts.data() + first_cell();
    for (Worker& worker : workers_) worker.swaps = {};
    for_each_item(pool_, state_.tiles(), [&](int item, int thread) {
      Worker& worker = workers_[thread];
      std::vector<SwapCandidate>& candidates = candidates_[thread];
      const int tile = tile_of<D>(g, item);
      const TileBounds bounds = tile_bounds<D>(g, tile);
      double* const diameters = state_.diameters.data();
      for (int turn = 0; turn < 1 << D; ++turn) {
        const auto set = static_cast<int>(rules.order >> (3 * turn) & 7u);
        // A candidate of each active cell of the set, with the room that its neighbors leave it,
        // rho_i = min_k (2 |r_ik| - d_k). No diameter that enters it changes while the set is
        // treated (section 6).
        int n[3];
        const int cells = swap_cells<D>(bounds, set, n);
        if (cells == 0) continue;
        candidates.resize(cells);
        for (int k = 0; k < cells; ++k) {
          int at[3];
          swap_cell<D>(n, set, k, at);
          const std::int64_t here = grid_cell<D>(g, bounds, at);
          candidates[k].id = kNoParticle;
          if (counts[here] == 0) continue;
          const Sphere p = spheres[here * g.slots + candidate_slot<D>(g, bounds, tile, at,
                                                                      rules.cycle, counts[here])];
          int cell[3];
          for (int a = 0; a < 3; ++a) cell[a] = bounds.first[a] + at[a];
          candidates[k] = {room_of<D, 1>(g, rules, cell, p, spheres, counts, diameters, 0), p.id};
        }
        for (int round = 0; round < rules.rounds; ++round) {
          // Cells k and (s - k) mod n are a pair, with s drawn for each round.
          const int offset = swap_offset<D>(g, tile, rules.cycle, set, round, cells);
          for (int k = 0; k < cells; ++k) {
            const int other = swap_partner(offset, k, cells);
            const SwapCandidate &a = candidates[k], &b = candidates[other];
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
    for (const Worker& worker : workers_) state_.data.swap_moves += worker.swaps;
  }

  // The same for types.
  template <int D>
  void swap_types() {
    fetch_neighbors({1, 0, 0, 1});
    const SwapRules rules = swap_rules(state_, state_.data.counters.cycles);
    const FieldView* const view = fields();
    std::vector<std::vector<TypeChange>> changes(pool_.size());
    for (Worker& worker : workers_) worker.swaps = {};
    for_each_item(pool_, state_.tiles(), [&](int item, int thread) {
      const int tile = tile_of<D>(local_, item);
      const TileBounds bounds = tile_bounds<D>(local_, tile);
      const TileOfCells t = tile_of_cells(view, bounds, tile);
      std::vector<TypeCandidate> candidates(static_cast<std::size_t>(local_.plane));
      swap_types_of_tile<D>(
          t, rules, 0, 1, candidates.data(), workers_[thread].swaps,
          [&](std::uint32_t id, std::int32_t type) {
            state_.labels[id].type = type;
            changes[thread].push_back({id, type});
          },
          [] {});
    });
    for (const Worker& worker : workers_) state_.data.swap_moves += worker.swaps;
    std::vector<TypeChange> all;
    for (const auto& each : changes) all.insert(all.end(), each.begin(), each.end());
    settle_types(state_, std::move(all));
  }

  // The insertions and deletions after a cycle, in its grid; then the particles get their indices.
  void insert_and_delete() {
    fetch_neighbors({1, 0, 0, 1});
    const InsertionRules rules = insertion_rules(state_, state_.data.counters.cycles);
    const FieldView* const view = fields();
    changes_.assign(pool_.size(), {});
    with_particles(state_.dimensions(), state_.distances.contact, [&](auto policy) {
      constexpr int D = decltype(policy)::kDimensions;
      constexpr Contact C = decltype(policy)::kContact;
      for_each_item(pool_, state_.tiles(), [&](int item, int thread) {
        if constexpr (C != Contact::additive) insert_in<D, C>(rules, view, item, changes_[thread]);
      });
    });
    Changes all;
    for (const Changes& each : changes_) {
      for (int k = 0; k < 2; ++k) {
        all.counts.trials[k] += each.counts.trials[k];
        all.counts.accepted[k] += each.counts.accepted[k];
      }
      all.inserted.insert(all.inserted.end(), each.inserted.begin(), each.inserted.end());
      all.removed.insert(all.removed.end(), each.removed.begin(), each.removed.end());
    }
    adopt_indices(settle_changes(state_, std::move(all)));
    law_ = law_of(state_);
  }

  TileOfCells tile_of_cells(const FieldView* view, const TileBounds& bounds, int tile) {
    return {local_,
            law_,
            view,
            bounds,
            tile,
            now_.spheres.data() + first_cell() * local_.slots,
            now_.counts.data() + first_cell()};
  }
  template <int D, Contact C>
  void insert_in(const InsertionRules& rules, const FieldView* view, int item, Changes& changes) {
    const Geometry& g = local_;
    const int tile = tile_of<D>(g, item);
    const TileBounds bounds = tile_bounds<D>(g, tile);
    const TileOfCells t = tile_of_cells(view, bounds, tile);
    visit_tile<D, C>(
        t, rules, 0, 1, changes.counts, [&](std::uint32_t id) { changes.removed.push_back(id); },
        [&](std::int64_t cell, int slot, std::int32_t type) {
          changes.inserted.push_back(
              place_of_new(static_cast<std::uint64_t>(cell * g.slots + slot), type));
        },
        [] {});
  }

  void adopt_indices(const NewIndices& of) {
    const auto slots = static_cast<std::int64_t>(local_.slots);
    Sphere* const own = now_.spheres.data() + static_cast<std::int64_t>(first_cell()) * slots;
    for (std::size_t k = 0; k < of.inserted.size(); ++k)
      own[of.inserted[k] / kNewTypes].id = of.of_inserted[k];
    if (of.of_former.empty()) return;
    for_cells([&](const int*, std::size_t at, int) {
      for (std::uint32_t s = 0; s < now_.counts[at]; ++s) {
        std::uint32_t& id = now_.spheres[at * static_cast<std::size_t>(slots) + s].id;
        if (id >= state_.particles) id = of.of_former[id - state_.particles];
      }
    });
  }

  // The trial changes of the volume; then the box and the cells follow.
  void change_box() {
    const double to = change_volume(state_, least_ratio(), crossings());
    if (to == state_.data.volume) return;
    // Positions in units stay; only the length of the unit and, where cells would become too narrow
    // or too wide, the grid follow the volume.
    const State before = frame_of(state_);
    set_volume(state_, to);
    fill_diameters(state_);
    law_ = law_of(state_);
    local_ = state_.local();
    if (same_cells(before.geometry, state_.geometry)) return;
    follow_grid(placed(before, now_));
  }
  void adopt(const Cells& cells) override {
    CpuEngine::adopt(cells);
    law_ = law_of(state_);
  }

  double least_ratio() const {
    return with_particles(state_.dimensions(), state_.distances.contact, [&](auto policy) {
      constexpr int D = decltype(policy)::kDimensions;
      constexpr Contact C = decltype(policy)::kContact;
      // Each pair is looked at from its lower cell: only rows above are needed.
      fetch_neighbors({2, 0, 0, 2});
      const Law reference = reference_law(state_);
      const LeastRatio wanted = least_ratio_wanted(state_);
      for (Worker& worker : workers_) worker.least_ratio = wanted.most;
      for_cells([&](const int cell[3], std::size_t, int thread) {
        double& least = workers_[thread].least_ratio;
        least = least_ratio_of<D, C, 1>(local_, reference, wanted, now_.spheres.data(),
                                        now_.counts.data(), cell, 0, least);
      });
      double least = wanted.most;
      for (const Worker& worker : workers_) least = std::min(least, worker.least_ratio);
      return least_of_ranks(state_, least);
    });
  }

  // The pairs of all ranks that may cross a range, in no particular order; none without steps.
  std::vector<Crossing> crossings() const {
    std::vector<Crossing> all;
    if (state_.parameters.steps.empty()) return all;
    fetch_neighbors({2, 0, 0, 2});
    const CrossingsWanted wanted = crossings_wanted(state_);
    const StepView steps = step_view(state_);
    const Law law = law_of(state_);
    for (Worker& worker : workers_) worker.crossings.clear();
    for_constant<2, 3>(state_.dimensions(), [&](auto dimensions) {
      for_cells([&](const int cell[3], std::size_t at, int thread) {
        std::vector<Crossing>& found = workers_[static_cast<std::size_t>(thread)].crossings;
        for (int slot = 0; slot < static_cast<int>(now_.counts[at]); ++slot)
          for_pairs<dimensions()>(
              local_, now_.spheres.data(), now_.counts.data(), wanted.range, cell, slot,
              [&](std::uint32_t i, std::uint32_t j, float dx, float dy, float dz) {
                const float d[3] = {dx, dy, dz};
                crossings_of(steps, law, wanted, i, j, d,
                             [&](const Crossing& pair) { found.push_back(pair); });
              });
      });
    });
    for (const Worker& worker : workers_)
      all.insert(all.end(), worker.crossings.begin(), worker.crossings.end());
    return crossings_of_ranks(state_, std::move(all));
  }

  Law law_;  // its tables are in state_
  FieldView view_{};
  const ParticleKernels kernels_;
  std::vector<TileMemory> memory_;  // of each thread
  std::vector<std::vector<SwapCandidate>> candidates_;
  std::vector<Changes> changes_;  // of each thread
};

}  // namespace

std::unique_ptr<Engine> make_cpu_particles(State state, int threads) {
  return std::make_unique<CpuParticles>(std::move(state), threads);
}

}  // namespace manymove::hard_particles
