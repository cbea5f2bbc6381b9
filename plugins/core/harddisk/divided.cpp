// SPDX-License-Identifier: BSD-3-Clause
#include "divided.h"

#include <algorithm>
#include <utility>

#include "../common/communicator.h"

namespace manymove::harddisk {
namespace {

// A call that all ranks make and that ends with a sum over all of them, or is followed by another
// exchange, so that none has left when another fails.
template <class Task>
auto on_all(RankRing& ranks, Task task) {
  try {
    return task();
  } catch (...) {
    fail(ranks.watchdog(), std::current_exception());
  }
}

void meet(RankRing& ranks) {
  std::uint64_t nothing = 0;
  ranks.sum(&nothing, 1);
}

class DividedEngine final : public Engine {
 public:
  DividedEngine(std::unique_ptr<Engine> part, State whole)
      : part_(std::move(part)),
        whole_(std::move(whole)),
        ranks_(*whole_.ranks),
        before_(part_->counters()),
        counters_(before_) {}

  void enqueue(std::uint64_t cycles) override {
    on_all(ranks_, [&] {
      part_->enqueue(cycles);
      add_up_rows();
      add_up_counters();
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
    return on_all(ranks_, [&] { return sum_of(part_->contact_histogram(bin_width, bins)); });
  }

  Grid grid() const override { return part_->grid(); }
  Repair repair() const override { return {}; }  // the whole was mended before it was divided
  std::size_t particles() const override { return whole_.particles; }
  double occupied() const override {
    return on_all(ranks_, [&] { return sum_of(part_->occupied()); });
  }
  void positions(double* xy) const override {
    on_all(ranks_, [&] {
      std::fill_n(xy, 2 * whole_.particles, 0.0);
      export_positions(whole_, part_->snapshot(), xy);
      ranks_.sum(xy, 2 * whole_.particles);
    });
  }
  std::vector<DiskPosition> own_positions() const override {
    return on_all(ranks_, [&] { return disk_positions(whole_, part_->snapshot()); });
  }
  std::array<double, 2> bond_order(double reach) const override {
    return on_all(ranks_, [&] {
      auto psi = part_->bond_order(reach);
      ranks_.sum(psi.data(), psi.size());
      return psi;
    });
  }
  double max_overlap() const override {
    return on_all(ranks_, [&] {
      std::vector<double> xy(2 * whole_.particles);
      positions(xy.data());
      return sum_of(ranks_.rank() == 0 ? deepest_overlap(whole_, xy.data()) : 0.0);
    });
  }
  std::uint64_t state_hash() const override {
    return on_all(ranks_, [&] {
      std::uint64_t sum = sum_over_disks(whole_, part_->snapshot());
      ranks_.sum(&sum, 1);
      return hash_of(sum, counters_);
    });
  }
  Snapshot snapshot() const override {
    return on_all(ranks_, [&] {
      Snapshot strip = part_->snapshot();
      strip.counters = counters_;
      meet(ranks_);
      return strip;
    });
  }

  void enqueue(std::uint64_t, const HostParticles&) override { refuse(); }
  bool same_positions(const HostParticles&) const override { refuse(); }
  bool enqueue_if_same(std::uint64_t, const HostParticles&) override { refuse(); }
  void write_positions(const HostParticles&) override { refuse(); }

 private:
  [[noreturn]] static void refuse() {
    throw std::logic_error("a divided engine does not move a host program's particles");
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

  double sum_of(double mine) const {
    ranks_.sum(&mine, 1);
    return mine;
  }
  std::vector<std::uint64_t> sum_of(std::vector<std::uint64_t> counts) const {
    if (!counts.empty()) ranks_.sum(counts.data(), counts.size());
    return counts;
  }

  std::unique_ptr<Engine> part_;
  State whole_;
  RankRing& ranks_;
  Counters before_, counters_;
  std::vector<std::uint64_t> rows_, row_cycles_;
};

}  // namespace

std::unique_ptr<Engine> make_divided_engine(
    RankRing& ranks, const std::function<std::unique_ptr<Engine>(State& whole)>& make) {
  return on_all(ranks, [&]() -> std::unique_ptr<Engine> {
    State whole;
    auto part = make(whole);
    auto engine = std::make_unique<DividedEngine>(std::move(part), std::move(whole));
    meet(ranks);
    return engine;
  });
}

}  // namespace manymove::harddisk
