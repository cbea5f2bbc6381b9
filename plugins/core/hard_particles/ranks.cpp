// SPDX-License-Identifier: BSD-3-Clause
#include "ranks.h"

#include <algorithm>
#include <utility>

#include "engine_of_ranks.h"

namespace manymove::hard_particles {
namespace {

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

class DistributedEngine final : public EngineOfRanks<Engine> {
 public:
  DistributedEngine(Communicator& ranks, std::unique_ptr<Engine> part, State whole)
      : EngineOfRanks(ranks, std::move(part)), whole_(std::move(whole)) {}

  Grid grid() const override { return part_->grid(); }
  std::size_t particles() const override { return whole_.particles; }
  std::array<double, 2> bond_order(double reach) const override {
    return on_all([&] {
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
    return on_all([&] {
      std::uint64_t sum = sum_over_disks(whole_, part_->snapshot());
      ranks_.sum(&sum, 1);
      return hash_of(sum, counters());
    });
  }
  Snapshot snapshot() const override {
    return on_all([&] {
      Snapshot all = part_->snapshot();
      const std::size_t row = whole_.row_slots();
      all.counters = counters();
      all.cells = bring_together(ranks_, std::move(all.cells), all.first_row, 2 * row);
      all.ids = bring_together(ranks_, std::move(all.ids), all.first_row, row);
      all.first_row = 0;
      return all;
    });
  }

 private:
  std::vector<ParticlePosition> positions_here() const override {
    return disk_positions(whole_, part_->snapshot());
  }

  State whole_;
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
