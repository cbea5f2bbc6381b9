// SPDX-License-Identifier: BSD-3-Clause
// Spheres and mixtures that ranks divide: the strips and what crosses between them are those of
// disks (../strip.h, ../crossing.h), and so is the engine that answers for all ranks
// (../engine_of_ranks.h).
#include <algorithm>
#include <stdexcept>
#include <utility>

#include "../../runtime/text.h"
#include "../engine_of_ranks.h"
#include "grid.h"
#include "state.h"

namespace manymove::hard_particles::spheres {
namespace {

// What all ranks have, as the snapshot of the whole on rank 0. Collective.
Snapshot bring_together(Communicator& ranks, const State& whole, Snapshot part) {
  const auto D = static_cast<std::size_t>(whole.dimensions());
  const auto to_first = [&](auto& mine) {
    std::vector<std::decay_t<decltype(mine)>> sent(static_cast<std::size_t>(ranks.ranks()));
    sent[0] = std::move(mine);
    return deliver(ranks, std::move(sent));
  };
  const std::vector<std::uint32_t> ids = to_first(part.ids);
  const std::vector<std::int64_t> places = to_first(part.places);
  Snapshot all;
  all.counters = part.counters;
  all.origin = part.origin;
  if (ranks.rank() > 0) return all;
  all.places.assign(whole.particles * D, -1);
  for (std::size_t i = 0; i < ids.size(); ++i)
    std::copy_n(&places[i * D], D, &all.places[ids[i] * D]);
  if (ids.size() != whole.particles || std::count(all.places.begin(), all.places.end(), -1))
    throw std::runtime_error("a particle is lost: the state is corrupt");
  return all;
}

// This rank's part of what rank 0 has, where `whole` is not null. Collective.
Snapshot deal_out(Communicator& ranks, const State& part, const Snapshot* whole) {
  const auto number = static_cast<std::size_t>(ranks.ranks());
  const auto D = static_cast<std::size_t>(part.dimensions());
  struct Header {
    Counters counters;
    std::array<std::int64_t, 3> origin;
  } header{};
  std::vector<std::vector<std::uint32_t>> ids(number);
  std::vector<std::vector<std::int64_t>> places(number);
  if (ranks.rank() == 0) {
    header = {whole->counters, whole->origin};
    const std::vector<int> first = first_strips(rows_of(part), ranks.ranks());
    for (std::size_t i = 0; i < part.particles; ++i) {
      const std::int64_t* const place = &whole->places[i * D];
      const int row = row_of(part, *whole, place[D - 1]);
      const auto rank = static_cast<std::size_t>(std::upper_bound(first.begin(), first.end(), row) -
                                                 first.begin() - 1);
      ids[rank].push_back(static_cast<std::uint32_t>(i));
      places[rank].insert(places[rank].end(), place, place + D);
    }
  }
  std::vector<Header> headers(number);
  ranks.gather(&header, headers.data(), sizeof header);
  Snapshot mine;
  mine.counters = headers[0].counters;
  mine.origin = headers[0].origin;
  mine.ids = deliver(ranks, std::move(ids));
  mine.places = deliver(ranks, std::move(places));
  return mine;
}

class DistributedEngine final : public EngineOfRanks<Engine> {
 public:
  DistributedEngine(Communicator& ranks, std::unique_ptr<Engine> part, State whole)
      : EngineOfRanks(ranks, std::move(part)), whole_(std::move(whole)) {}

  void set_type_diameters(const std::vector<double>& diameters) override {
    whole_.type_diameters = diameters;
  }
  Grid grid() const override { return part_->grid(); }
  std::size_t particles() const override { return whole_.particles; }
  double max_overlap() const override {
    std::vector<double> r(whole_.particles * static_cast<std::size_t>(whole_.dimensions()));
    positions(r.data());
    return deepest_overlap(whole_, r.data());
  }
  std::uint64_t state_hash() const override {
    return on_all([&] {
      const Snapshot mine = part_->snapshot();
      std::uint64_t sums[2] = {sum_over_particles(whole_, mine), mine.ids.size()};
      ranks_.sum(sums, 2);
      if (sums[1] != whole_.particles)
        throw std::runtime_error("a particle is lost: the state is corrupt");
      return hash_of(sums[0], counters());
    });
  }
  Snapshot snapshot() const override {
    return on_all([&] {
      Snapshot mine = part_->snapshot();
      mine.counters = counters();
      return bring_together(ranks_, whole_, std::move(mine));
    });
  }

 private:
  std::vector<ParticlePosition> positions_here() const override {
    return particle_positions(whole_, part_->snapshot());
  }

  State whole_;  // without its particles
};

}  // namespace

GridRows rows_of(const State& s) {
  const int last = s.dimensions() - 1;
  return {s.geometry.cells[last], s.geometry.tiles[last], s.geometry.tile, last == 2};
}

int row_of(const State& s, const Snapshot& data, std::int64_t place) {
  const auto last = static_cast<std::size_t>(s.dimensions() - 1);
  const std::int64_t x = place - data.origin[last];
  const auto width = 2 * static_cast<std::int64_t>(s.geometry.half[last]);
  return static_cast<int>((x < 0 ? x + s.extent[last] : x) / width);
}

State make_part(std::size_t particles, const Parameters& parameters, Communicator& ranks) {
  State s;
  s.parameters = parameters;
  s.particles = particles;
  if (s.constant_pressure()) refuse("constant pressure is for one rank");
  if (s.swaps()) refuse("swap moves are for one rank");
  choose_grid(s);
  s.strip.emplace(rows_of(s), ranks.rank(), ranks.ranks());
  s.ranks = &ranks;
  return s;
}

Snapshot make_snapshot(const double* coordinates, std::size_t particles,
                       const Parameters& parameters, Repair& repair) {
  State s = make_state(coordinates, particles, parameters);
  repair = s.repair;
  return std::move(s.data);
}

void check_snapshot(const Snapshot& snapshot, std::size_t particles, const Parameters& parameters) {
  make_state(snapshot, particles, parameters);
}

std::unique_ptr<Engine> make_engine(const Snapshot* whole, std::size_t particles,
                                    const Parameters& parameters, const std::string& device,
                                    int threads, Communicator& ranks) {
  std::unique_ptr<Engine> engine;
  collective(ranks, [&] {
    check_devices(ranks, device);
    State part;
    together(ranks, [&] { part = make_part(particles, parameters, ranks); });
    Snapshot mine = deal_out(ranks, part, whole);
    auto of_part = engine_on(device, threads, [&] {
      State state = part;
      state.data = std::move(mine);
      return state;
    });
    engine = std::make_unique<DistributedEngine>(ranks, std::move(of_part), std::move(part));
  });
  return engine;
}

}  // namespace manymove::hard_particles::spheres
