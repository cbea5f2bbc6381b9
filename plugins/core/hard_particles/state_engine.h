// SPDX-License-Identifier: BSD-3-Clause
// What all engines have: they answer from their State and the cells of their particles, for all
// ranks together if ranks divide the system (strip.h). The backends add how cycles are made.
#pragma once

#include <array>
#include <exception>
#include <string>
#include <type_traits>
#include <vector>

#include "rows.h"
#include "state.h"

namespace manymove::hard_particles {

class StateEngine : public Engine {
 public:
  using Engine::enqueue;
  void enqueue(std::uint64_t cycles) override;
  void start(std::uint64_t cycles) override;
  Counters counters() const final { return state_.ranks ? total_ : own_counters(); }
  TrialCounters volume_counters() const final { return state_.data.volume_moves; }
  TrialCounters box_counters(BoxMove kind) const final {
    const auto k = 2 * static_cast<std::size_t>(kind);
    return {state_.data.box_moves[k], state_.data.box_moves[k + 1]};
  }
  TrialCounters swap_counters() const final { return state_.ranks ? total_swaps_ : own_swaps(); }

  TrialCounters insertion_counters() const final { return state_.data.insertions; }
  TrialCounters deletion_counters() const final { return state_.data.deletions; }
  void set_fugacities(const std::vector<double>& fugacities) override;
  std::vector<std::uint32_t> take_former_indices() final;
  std::vector<std::int32_t> types() const final { return state_.parameters.types; }

  void set_sampling(const Sampling& sampling) final;
  std::vector<std::uint64_t> take_rows(std::vector<std::uint64_t>& cycles) final;
  std::vector<std::uint64_t> contact_histogram(double bin_width, int bins) const final;
  void set_volume_sampling(std::uint64_t record) final;
  std::vector<double> take_volumes(std::vector<std::uint64_t>& cycles) final {
    return volumes_.take(cycles);
  }

  Repair repair() const final { return state_.repair; }
  std::size_t particles() const final { return state_.particles; }
  Grid grid() const final { return grid_of(state_); }
  std::string transport() const override { return state_.ranks ? "MPI" : ""; }
  void positions(double* coordinates) const final;
  std::vector<ParticlePosition> own_positions() const final;
  std::vector<double> field_energies() const final;
  std::vector<double> step_energies() const final;
  std::vector<double> diameters() const final;
  void set_type_diameters(const std::vector<double>& diameters) override {
    state_.type_diameters = diameters;
  }
  std::array<double, 2> bond_order(double reach) const final;
  double max_overlap() const final;
  std::uint64_t state_hash() const final;
  Snapshot snapshot() const final;

 protected:
  explicit StateEngine(State state);
  friend class GibbsSystem;  // gibbs.cpp

  // ---- of this rank ----
  virtual void advance(std::uint64_t cycles) = 0;
  virtual Counters own_counters() const = 0;
  virtual TrialCounters own_swaps() const { return state_.data.swap_moves; }
  // Those of local storage; of those beyond its strip, a rank may have any.
  virtual Cells present_cells() const = 0;
  // Takes the cells of another grid, that of the state. Called where the box changes.
  virtual void adopt(const Cells&) {}
  // The diameters [N]; with swap moves a rank has those of its own particles.
  virtual std::vector<double> present_diameters() const { return state_.parameters.diameters; }
  // The histograms of a row: begin_rows() drops all rows, and they have `size` bins from now on;
  // add_sample() adds the present configuration to the present row; end_row() keeps that if it is
  // complete, and begins another one; ended_rows() hands over those that were kept.
  virtual void begin_rows(std::size_t size) = 0;
  virtual void add_sample() = 0;
  virtual void end_row(bool complete) = 0;
  virtual std::vector<std::uint64_t> ended_rows() = 0;
  // [kinds][bins], of pairs whose first particle is this rank's.
  virtual std::vector<std::uint64_t> histogram(const Sampling& sampling) const = 0;
  // Sums of psi_6 over the disks of parts of this rank's, in the order of the parts.
  virtual std::vector<std::array<double, 2>> bond_order_sums(float) const {
    throw std::logic_error("psi_6 is the order of equal disks at constant volume");
  }

  // ---- for the backends ----
  bool wants_sample(std::uint64_t cycle) const {
    return sampling_.every && cycle % sampling_.every == 0;
  }
  // To be called after each cycle, for the rows of histograms.
  void end_cycle();
  // The second part of end_cycle(), for a backend that adds samples itself.
  bool row_ends() const { return rows_.ends_with(state_.data.counters.cycles); }
  bool row_is_complete() const { return rows_.complete(); }
  void end_row_of_cycle() { end_row(rows_.end(state_.data.counters.cycles)); }
  std::size_t row_size(const Sampling& sampling) const {
    return static_cast<std::size_t>(sampling.bins) * state_.histograms();
  }
  // After the trial changes of the box, or the insertions and deletions, that follow a cycle.
  void record_volume();
  // After a change of the grid: its cells, from the particles of the former one. Collective.
  void follow_grid(Snapshot now);
  // The trial changes of edges, which the grid follows. Collective.
  void change_edges_of_box();
  // A snapshot with the places of this rank's particles; those of cells in another grid.
  Snapshot placed() const { return placed(state_, present_cells()); }
  Snapshot placed(const State& frame, const Cells& cells) const;
  // Index of the first cell of this rank's first row.
  std::size_t first_cell() const {
    return static_cast<std::size_t>(state_.first_row()) * state_.row_cells();
  }
  // A host program's particles are those of one rank alone.
  void check_alone() const;

  mutable State state_;  // const functions fill a strip's margins
  Sampling sampling_;

 private:
  // A call that all ranks make and that ends with a collective call, or is followed by one, so that
  // none has left when another fails.
  template <class Task>
  std::invoke_result_t<Task> on_all(Task task) const {
    if (!state_.ranks) return task();
    try {
      return task();
    } catch (...) {
      fail(state_.ranks->watchdog(), std::current_exception());
    }
  }
  void sum_over_ranks(auto* values, std::size_t count) const {
    if (state_.ranks) state_.ranks->sum(values, count);
  }
  // [N], from the diameters of each rank's particles; empty without swap moves.
  std::vector<double> diameters_of_all(const Snapshot& mine) const;

  // Each rank's counters began with those of the whole.
  const Counters start_;
  const TrialCounters start_swaps_;
  Counters total_;
  TrialCounters total_swaps_;
  Rows<std::uint64_t> rows_;  // of histograms
  Rows<double> volumes_;
  std::array<double, 3> volume_sums_{};  // of V, V^2 and 1/V
  std::uint64_t volume_samples_ = 0;
};

}  // namespace manymove::hard_particles
