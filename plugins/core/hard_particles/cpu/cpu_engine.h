// SPDX-License-Identifier: BSD-3-Clause
// The engine on a CPU: threads over tiles. What depends on the policy is in disks.cpp and
// particles.cpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "../../runtime/parallel_for.h"
#include "../../runtime/text.h"
#include "../cells_of_disks.h"
#include "../halo.h"
#include "../host_particles.h"
#include "../state_engine.h"
#include "../steps.h"
#include "kernels.h"

namespace manymove::hard_particles {

class CpuEngine : public StateEngine {
 public:
  bool same_positions(const HostParticles& host) const final { return written_ == trace(host); }
  void write_positions(const HostParticles& host) final;

 protected:
  CpuEngine(State state, int threads)
      : StateEngine(std::move(state)),
        pool_(threads),
        loop_(pool_.size()),
        workers_(pool_.size()),
        local_(state_.local()),
        now_(std::move(state_.start)) {
    spare_.spheres.resize(now_.spheres.size());
    spare_.counts.resize(now_.counts.size());
    if (state_.strip && state_.swaps_diameters()) row_diameters_.resize(now_.spheres.size());
  }

  // What a thread has counted.
  struct alignas(128) Worker {
    MoveCounts moves{};
    std::vector<std::uint32_t> bins;
    std::uint64_t trace = 0;
    double least_ratio = 0;
    std::vector<Crossing> crossings;
    TrialCounters swaps;
  };

  // A cycle of a tile by a thread.
  virtual void run_tile(const Draw& draw, int tile, const TileBounds& bounds,
                        const CycleArrays& arrays, int thread) = 0;
  // The fields and the steps in the grid of the next cycle, whose origin the state has; null: none.
  virtual const FieldView* fields() { return nullptr; }
  // Swap moves and trial changes of the box.
  virtual void change_between_cycles() {}

  void advance(std::uint64_t cycles) final;
  Counters own_counters() const final { return state_.data.counters; }
  Cells present_cells() const final { return now_; }
  void adopt(const Cells& cells) override;

  void begin_rows(std::size_t size) final {
    row_.assign(size, 0);
    ended_.clear();
  }
  void add_sample() final { add_pairs(sampling_, row_); }
  void end_row(bool complete) final {
    if (complete) ended_.insert(ended_.end(), row_.begin(), row_.end());
    std::fill(row_.begin(), row_.end(), 0);
  }
  std::vector<std::uint64_t> ended_rows() final { return std::exchange(ended_, {}); }
  std::vector<std::uint64_t> histogram(const Sampling& sampling) const final {
    std::vector<std::uint64_t> counts(row_size(sampling));
    add_pairs(sampling, counts);
    return counts;
  }

  // Sends rows of the strip, of `rows` rows, to the neighbors and takes theirs into the margins,
  // with swap moves with the diameters of their particles. Collective.
  void exchange_rows(const HaloRows& halo, int rows) const;
  // Pairs reach at most two rows of cells beyond the strip.
  void fetch_neighbors(const HaloRows& halo) const {
    if (state_.strip) exchange_rows(halo, state_.rows());
  }
  // Calls task(cell, at, thread) for the cells of this rank that hold particles: the coordinates
  // and the index of the cell in local storage. A row of cells along x belongs to one thread.
  void for_cells(auto&& task) const {
    const Geometry& g = local_;
    const int lines = state_.dimensions() == 3 ? g.cells[1] : 1;  // of a row of the strip
    for_each_item(pool_, lines * state_.rows(), [&](int item, int thread) {
      const int line = lines * state_.first_row() + item;
      int cell[3] = {0, line % g.cells[1], line / g.cells[1]};
      for (; cell[0] < g.cells[0]; ++cell[0]) {
        const std::size_t at = static_cast<std::size_t>(line) * g.cells[0] + cell[0];
        if (now_.counts[at]) task(cell, at, thread);
      }
    });
  }

  mutable ThreadPool pool_;
  SharedLoop loop_;  // over tiles, whose particles stay in the cache of a core
  mutable std::vector<Worker> workers_;
  Geometry local_;     // of this rank
  mutable Cells now_;  // const functions fill a strip's margins

 private:
  std::uint64_t trace(const HostParticles& host) const;
  // Adds the pairs near contact to a row.
  void add_pairs(const Sampling& sampling, std::vector<std::uint64_t>& row) const;
  // Calls task(slot, id) for the particles in rows of local storage.
  void for_particles(int first_row, int rows, auto&& task) const;

  Cells spare_;
  mutable std::vector<double> row_diameters_;   // [stored cells][slots], with swap moves on ranks
  mutable std::vector<std::byte> messages_[4];  // to below, above; from below, above
  std::vector<std::uint64_t> row_, ended_;
  std::uint64_t written_ = 0;  // trace of write_positions()
};

std::unique_ptr<Engine> make_cpu_particles(State state, int threads);

}  // namespace manymove::hard_particles
