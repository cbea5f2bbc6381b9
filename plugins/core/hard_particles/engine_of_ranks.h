// SPDX-License-Identifier: BSD-3-Clause
// The engine of a system that is divided among ranks: it answers for all of them together. What
// moves the particles of a rank is an engine of its strip, to which the strip is the whole; what
// disks and spheres share of that is here, and distributed.cpp and spheres/distributed.cpp have
// the rest.
#pragma once

#include <algorithm>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "../parallel/communicator.h"
#include "engine.h"

namespace manymove::hard_particles {

// Base is one of the classes named Engine.
template <class Base>
class EngineOfRanks : public Base {
 public:
  void enqueue(std::uint64_t cycles) override {
    on_all([&] {
      part_->enqueue(cycles);
      add_up_rows();
      add_up_counters();
      add_up();
    });
  }
  Counters counters() const override { return counters_; }

  void set_sampling(const Sampling& sampling) override {
    part_->set_sampling(sampling);
    rows_.clear();
    row_cycles_.clear();
  }
  std::vector<std::uint64_t> take_rows(std::vector<std::uint64_t>& cycles) override {
    cycles = std::exchange(row_cycles_, {});
    return std::exchange(rows_, {});
  }
  std::vector<std::uint64_t> contact_histogram(double bin_width, int bins) const override {
    return on_all([&] { return sum_of(part_->contact_histogram(bin_width, bins)); });
  }

  std::string transport() const override {
    const std::string between_devices = part_->transport();
    return between_devices.empty() ? "MPI" : between_devices;
  }
  Repair repair() const override { return {}; }  // the whole was repaired before it was divided
  double occupied() const override {
    return on_all([&] {
      double share = part_->occupied();
      ranks_.sum(&share, 1);
      return share;
    });
  }
  std::vector<ParticlePosition> own_positions() const override {
    return on_all([&] { return positions_here(); });
  }
  void positions(double* coordinates) const override {
    const auto d = static_cast<std::size_t>(this->dimensions());
    on_all([&] {
      for (const ParticlePosition& each : collect(ranks_, positions_here()))
        std::copy_n(each.r.begin(), d, coordinates + d * each.particle);
    });
  }

  bool same_positions(const HostParticles&) const override { refuse(); }
  bool enqueue_if_same(std::uint64_t, const HostParticles&) override { refuse(); }
  void enqueue(std::uint64_t, const HostParticles&) override { refuse(); }
  void write_positions(const HostParticles&) override { refuse(); }

 protected:
  // The communicator must outlive this engine.
  EngineOfRanks(Communicator& ranks, std::unique_ptr<Base> part)
      : part_(std::move(part)), ranks_(ranks), before_(part_->counters()), counters_(before_) {}

  // What else changes in a run. Collective.
  virtual void add_up() {}
  // The particles of this rank, in no particular order.
  virtual std::vector<ParticlePosition> positions_here() const = 0;

  // A call that all ranks make and that ends with a collective call, or is followed by one, so that
  // none has left when another fails.
  template <class Task>
  auto on_all(Task task) const {
    try {
      return task();
    } catch (...) {
      fail(ranks_.watchdog(), std::current_exception());
    }
  }

  std::unique_ptr<Base> part_;
  Communicator& ranks_;

 private:
  [[noreturn]] static void refuse() {
    throw std::logic_error("an engine of several ranks does not move a host program's particles");
  }

  // Each part began with the counts of the whole.
  void add_up_counters() {
    const Counters mine = part_->counters();
    std::uint64_t moves[2] = {mine.trial_moves - before_.trial_moves,
                              mine.accepted_moves - before_.accepted_moves};
    ranks_.sum(moves, 2);
    counters_ = {mine.cycles, before_.trial_moves + moves[0], before_.accepted_moves + moves[1]};
  }
  void add_up_rows() {
    std::vector<std::uint64_t> cycles;
    const auto rows = sum_of(part_->take_rows(cycles));
    rows_.insert(rows_.end(), rows.begin(), rows.end());
    row_cycles_.insert(row_cycles_.end(), cycles.begin(), cycles.end());
  }
  std::vector<std::uint64_t> sum_of(std::vector<std::uint64_t> counts) const {
    ranks_.sum(counts.data(), counts.size());
    return counts;
  }

  const Counters before_;
  Counters counters_;
  std::vector<std::uint64_t> rows_, row_cycles_;
};

// Throws, on all ranks, if some are to run on CPUs and others on GPUs. Collective.
inline void check_devices(Communicator& ranks, const std::string& device) {
  std::int64_t kinds[2] = {device == "cpu", device != "cpu"};
  ranks.maximum(kinds, 2);
  if (kinds[0] && kinds[1])
    together(ranks, [] {
      throw std::invalid_argument(
          "some ranks are to run on CPUs and others on CUDA devices: choose one kind for all");
    });
}

}  // namespace manymove::hard_particles
