// SPDX-License-Identifier: BSD-3-Clause
#include "distributed.h"

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <utility>

namespace manymove::hard_particles {
namespace {

// A call that all ranks make and that ends with a collective call, or is followed by one, so that
// none has left when another fails.
template <class Task>
auto on_all(Communicator& ranks, Task task) {
  try {
    return task();
  } catch (...) {
    fail(ranks.watchdog(), std::current_exception());
  }
}

// The arrays of the ranks' strips as that of all rows, on rank 0.
template <class T>
std::vector<T> bring_together(Communicator& ranks, std::vector<T> strip, int first_row,
                              std::size_t row) {
  std::vector<std::vector<T>> sent(static_cast<std::size_t>(ranks.ranks()));
  sent[0] = std::move(strip);
  std::vector<T> all = deliver(ranks, std::move(sent));
  // The rows begin with those of rank 0's strip.
  if (ranks.rank() == 0)
    std::rotate(all.begin(), all.end() - static_cast<std::ptrdiff_t>(first_row * row), all.end());
  return all;
}

class DistributedEngine final : public Engine {
 public:
  DistributedEngine(Communicator& ranks, std::unique_ptr<Engine> part, State whole)
      : part_(std::move(part)),
        whole_(std::move(whole)),
        ranks_(ranks),
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
  Repair repair() const override { return {}; }  // the whole was repaired before it was divided
  std::size_t particles() const override { return whole_.particles; }
  double occupied() const override {
    return on_all(ranks_, [&] { return sum_of(part_->occupied()); });
  }
  void positions(double* xy) const override {
    on_all(ranks_, [&] {
      for (const auto& [disk, at] : collect(ranks_, disk_positions(whole_, part_->snapshot())))
        std::copy(at.begin(), at.end(), xy + 2 * std::size_t{disk});
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
    std::vector<double> xy(2 * whole_.particles);
    positions(xy.data());
    return deepest_overlap(whole_, xy.data());
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
      Snapshot all = part_->snapshot();
      const std::size_t row = whole_.row_slots();
      all.counters = counters_;
      all.cells = bring_together(ranks_, std::move(all.cells), all.first_row, 2 * row);
      all.ids = bring_together(ranks_, std::move(all.ids), all.first_row, row);
      all.first_row = 0;
      return all;
    });
  }

  void enqueue(std::uint64_t, const HostParticles&) override { refuse(); }
  bool same_positions(const HostParticles&) const override { refuse(); }
  bool enqueue_if_same(std::uint64_t, const HostParticles&) override { refuse(); }
  void write_positions(const HostParticles&) override { refuse(); }

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

  double sum_of(double mine) const {
    ranks_.sum(&mine, 1);
    return mine;
  }
  std::vector<std::uint64_t> sum_of(std::vector<std::uint64_t> counts) const {
    ranks_.sum(counts.data(), counts.size());
    return counts;
  }

  std::unique_ptr<Engine> part_;
  State whole_;
  Communicator& ranks_;
  Counters before_, counters_;
  std::vector<std::uint64_t> rows_, row_cycles_;
};

}  // namespace

Snapshot deal_out(Communicator& ranks, const Snapshot* whole, const std::vector<int>& edges) {
  const auto number = static_cast<std::size_t>(ranks.ranks());
  struct Header {
    Counters counters;
    std::array<std::int64_t, 2> origin;
  } header{};
  std::vector<std::vector<float>> cells(number);
  std::vector<std::vector<std::int32_t>> ids(number);
  if (ranks.rank() == 0) {
    header = {whole->counters, whole->origin};
    const std::size_t row = whole->ids.size() / static_cast<std::size_t>(edges.back());
    const auto cut = [&](const auto& array, std::size_t r, std::size_t width) {
      const auto at = [&](std::size_t k) {
        return array.begin() + static_cast<std::ptrdiff_t>(edges[k] * width);
      };
      return std::vector(at(r), at(r + 1));
    };
    for (std::size_t r = 0; r < number; ++r) {
      cells[r] = cut(whole->cells, r, 2 * row);
      ids[r] = cut(whole->ids, r, row);
    }
  }
  std::vector<Header> headers(number);
  ranks.gather(&header, headers.data(), sizeof header);
  return {headers[0].counters, headers[0].origin, edges[static_cast<std::size_t>(ranks.rank())],
          deliver(ranks, std::move(cells)), deliver(ranks, std::move(ids))};
}

void put_in(State& s, Snapshot strip) {
  const auto in_storage = [&](auto& array, std::size_t row, auto empty) {
    std::remove_reference_t<decltype(array)> storage(s.strip->capacity() * row, empty);
    std::copy(array.begin(), array.end(),
              storage.begin() + static_cast<std::ptrdiff_t>(s.strip->margin() * row));
    array = std::move(storage);
  };
  in_storage(strip.cells, 2 * s.row_slots(), kEmpty);
  in_storage(strip.ids, s.row_slots(), -1);
  s.data = std::move(strip);
}

std::unique_ptr<Engine> make_distributed_engine(
    Communicator& ranks, const std::function<std::unique_ptr<Engine>(State& whole)>& make) {
  std::unique_ptr<Engine> engine;
  collective(ranks, [&] {
    State whole;
    auto part = make(whole);
    engine = std::make_unique<DistributedEngine>(ranks, std::move(part), std::move(whole));
  });
  return engine;
}

}  // namespace manymove::hard_particles
