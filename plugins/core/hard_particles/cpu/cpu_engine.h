// SPDX-License-Identifier: BSD-3-Clause
// The engine on a CPU: threads over tiles. What depends on the policy, the storage of the cells and
// what is done with it, is in disks.cpp and particles.cpp.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <utility>
#include <vector>

#include "../../runtime/parallel_for.h"
#include "../../runtime/text.h"
#include "../cells_of_disks.h"
#include "../crossing.h"
#include "../host_particles.h"
#include "../rows.h"
#include "../state.h"
#include "kernels.h"

namespace manymove::hard_particles {

class CpuEngine : public Engine {
 public:
  void enqueue(std::uint64_t cycles) final {
    Counters& all = state_.data.counters;
    for (std::uint64_t i = 0; i < cycles; ++i) {
      for (Counted& counted : counted_) counted.moves = {};
      make_cycle();
      ++all.cycles;
      for (const Counted& counted : counted_) {
        all.trial_moves += counted.moves.trial_moves;
        all.accepted_moves += counted.moves.accepted_moves;
        if (counted.moves.corrupt)
          throw std::runtime_error(
              text_of("a cell holds more ", state_.noun(), "s than fit: the state is corrupt"));
      }
      change_between_cycles();
      if (rows_.wants_sample(all.cycles)) add_pairs(rows_.sampling(), rows_.row());
      rows_.end_cycle(all.cycles);
    }
  }

  bool same_positions(const HostParticles& host) const final { return written_ == trace(host); }
  void write_positions(const HostParticles& host) final { written_ = write(host); }

  void set_sampling(const Sampling& sampling) final {
    rows_.begin(sampling, row_size(sampling), state_.data.counters.cycles);
  }
  std::vector<std::uint64_t> take_rows(std::vector<std::uint64_t>& cycles) final {
    return rows_.take(cycles);
  }
  std::vector<std::uint64_t> contact_histogram(double bin_width, int bins) const final {
    const Sampling sampling{bin_width, bins, 0, 0};
    std::vector<std::uint64_t> counts(row_size(sampling));
    add_pairs(sampling, counts.data());
    return counts;
  }

  Counters counters() const final { return state_.data.counters; }
  Grid grid() const final { return grid_of(state_); }
  Repair repair() const final { return state_.repair; }
  std::size_t particles() const final { return state_.particles; }
  void positions(double* r) const final { export_positions(state_, placed(), r); }
  double max_overlap() const final { return deepest_overlap(state_, placed()); }
  std::uint64_t state_hash() const final { return hash_of(state_, placed()); }

 protected:
  CpuEngine(State state, int threads)
      : state_(std::move(state)), pool_(threads), loop_(pool_.size()), counted_(pool_.size()) {}

  // What a thread has counted.
  struct alignas(128) Counted {
    MoveCounts moves{};
    std::vector<std::uint32_t> bins;
  };

  // The trial moves of a cycle, after which the cells are those of the shifted grid.
  virtual void make_cycle() = 0;
  // Swap moves and trial changes of the box.
  virtual void change_between_cycles() {}
  // Counts the pairs near contact in counted_[thread].bins, with those of the neighbors' rows.
  virtual void count_pairs(const Sampling& sampling) const = 0;
  // The trace of a host program's particles, and that of what is written to them.
  virtual std::uint64_t trace(const HostParticles& host) const = 0;
  virtual std::uint64_t write(const HostParticles& host) = 0;

  // The sum of part_of(part) over parts, which threads share.
  template <class PartOf>
  std::uint64_t sum_over(std::size_t parts, PartOf&& part_of) const {
    std::atomic<std::uint64_t> sum{0};
    for_each_item(pool_, static_cast<int>(parts),
                  [&](int part, int) { sum += part_of(static_cast<std::size_t>(part)); });
    return sum;
  }
  // The sum of trace_of(place in the arrays) over a host program's particles.
  template <class TraceOf>
  std::uint64_t sum_of_traces(TraceOf&& trace_at) const {
    constexpr std::size_t kPart = 4096;
    return sum_over((state_.particles + kPart - 1) / kPart, [&](std::size_t part) {
      const std::size_t end = std::min(state_.particles, (part + 1) * kPart);
      std::uint64_t sum = 0;
      for (std::size_t i = part * kPart; i < end; ++i) sum += trace_at(i);
      return sum;
    });
  }

  mutable State state_;  // const functions fill a strip's margins
  mutable ThreadPool pool_;
  SharedLoop loop_;  // over tiles, whose particles stay in the cache of a core
  mutable std::vector<Counted> counted_;
  mutable std::vector<std::byte> messages_[4];  // to below, above; from below, above

 private:
  Snapshot placed() const { return with_places(state_, snapshot()); }
  std::size_t row_size(const Sampling& sampling) const {
    return static_cast<std::size_t>(sampling.bins) * state_.kinds();
  }
  // Adds the pairs near contact to a row.
  void add_pairs(const Sampling& sampling, std::uint64_t* row) const {
    for (Counted& counted : counted_) counted.bins.assign(row_size(sampling), 0);
    count_pairs(sampling);
    for (const Counted& counted : counted_)
      std::transform(counted.bins.begin(), counted.bins.end(), row, row, std::plus<>());
  }

  Rows rows_;
  std::uint64_t written_ = 0;  // trace of write_positions()
};

std::unique_ptr<Engine> make_cpu_disks(State state, int threads);
std::unique_ptr<Engine> make_cpu_particles(State state, int threads);

}  // namespace manymove::hard_particles
