// SPDX-License-Identifier: BSD-3-Clause
// Spheres and mixtures that ranks divide: the strips and what crosses between them are those of
// disks (../strip.h, ../crossing.h), and so is the engine that answers for all ranks
// (../engine_of_ranks.h).
#include <algorithm>
#include <stdexcept>
#include <utility>

#include "../runtime/text.h"
#include "engine_of_ranks.h"
#include "constant_pressure/edges.h"
#include "grid.h"
#include "state.h"
#include "constant_pressure/volume.h"

namespace manymove::hard_particles::particles {
namespace {

// What crosses from rank to rank of the particles: their indices, places and, with swap moves,
// their diameters.
struct Parts {
  explicit Parts(std::size_t ranks) : ids(ranks), places(ranks), diameters(ranks) {}
  void add(std::size_t rank, const Snapshot& data, std::size_t i, std::size_t dimensions) {
    const auto place = data.places.begin() + static_cast<std::ptrdiff_t>(i * dimensions);
    ids[rank].push_back(data.index(i));
    places[rank].insert(places[rank].end(), place, place + static_cast<std::ptrdiff_t>(dimensions));
    if (!data.diameters.empty()) diameters[rank].push_back(data.diameters[i]);
  }
  // What this rank is sent. Collective.
  Snapshot deliver_to(Communicator& communicator) {
    Snapshot mine;
    mine.ids = deliver(communicator, std::move(ids));
    mine.places = deliver(communicator, std::move(places));
    mine.diameters = deliver(communicator, std::move(diameters));
    return mine;
  }

  std::vector<std::vector<std::uint32_t>> ids;
  std::vector<std::vector<std::int64_t>> places;
  std::vector<std::vector<double>> diameters;
};

// The particles of a snapshot to the ranks in whose strips they are.
Parts parts_of(const State& part, const Snapshot& data) {
  const auto number = static_cast<std::size_t>(part.ranks->ranks());
  const auto D = static_cast<std::size_t>(part.dimensions());
  Parts parts(number);
  const std::vector<int> first = first_strips(rows_of(part), part.ranks->ranks());
  for (std::size_t i = 0; i < data.places.size() / D; ++i) {
    const int row = row_of(part, data, data.places[i * D + D - 1]);
    const auto rank =
        static_cast<std::size_t>(std::upper_bound(first.begin(), first.end(), row) - first.begin());
    parts.add(rank - 1, data, i, D);
  }
  return parts;
}

// What all ranks have, as the snapshot of the whole on rank 0. Collective.
Snapshot bring_together(Communicator& ranks, const State& whole, const Snapshot& part) {
  const auto D = static_cast<std::size_t>(whole.dimensions());
  Parts parts(static_cast<std::size_t>(ranks.ranks()));
  for (std::size_t i = 0; i < part.ids.size(); ++i) parts.add(0, part, i, D);
  const Snapshot found = parts.deliver_to(ranks);
  Snapshot all = part;
  all.ids.clear();
  all.places.clear();
  all.diameters.clear();
  if (ranks.rank() > 0) return all;
  all.places.assign(whole.particles * D, -1);
  if (whole.swaps()) all.diameters.resize(whole.particles);
  for (std::size_t i = 0; i < found.ids.size(); ++i) {
    std::copy_n(&found.places[i * D], D, &all.places[found.ids[i] * D]);
    if (whole.swaps()) all.diameters[found.ids[i]] = found.diameters[i];
  }
  if (found.ids.size() != whole.particles || std::count(all.places.begin(), all.places.end(), -1))
    throw std::runtime_error("a particle is lost: the state is corrupt");
  return all;
}

// What is not of single particles in the snapshot of the whole, which rank 0 has. Collective.
Snapshot header_of(Communicator& ranks, const Snapshot* whole) {
  struct Header {
    Counters counters;
    std::array<std::int64_t, 3> origin, extent;
    double volume;
    std::uint64_t trials[4];
  } header{};
  if (ranks.rank() == 0)
    header = {
        whole->counters,
        whole->origin,
        whole->extent,
        whole->volume,
        {whole->volume_trials, whole->volume_accepted, whole->swap_trials, whole->swap_accepted}};
  std::vector<Header> headers(static_cast<std::size_t>(ranks.ranks()));
  ranks.gather(&header, headers.data(), sizeof header);
  header = headers[0];
  Snapshot data;
  data.counters = header.counters;
  data.origin = header.origin;
  data.extent = header.extent;
  data.volume = header.volume;
  data.volume_trials = header.trials[0];
  data.volume_accepted = header.trials[1];
  data.swap_trials = header.trials[2];
  data.swap_accepted = header.trials[3];
  return data;
}

// This rank's part of what rank 0 has; the diameters are those of the parameters. Collective.
Snapshot deal_out(Communicator& ranks, const State& part, const Snapshot* whole, Snapshot header) {
  Parts parts(static_cast<std::size_t>(ranks.ranks()));
  if (ranks.rank() == 0) parts = parts_of(part, *whole);
  for (std::vector<double>& each : parts.diameters) each.clear();
  Snapshot mine = parts.deliver_to(ranks);
  header.ids = std::move(mine.ids);
  header.places = std::move(mine.places);
  return header;
}

class DistributedEngine final : public EngineOfRanks<Engine> {
 public:
  DistributedEngine(Communicator& ranks, std::unique_ptr<Engine> part, State whole)
      : EngineOfRanks(ranks, std::move(part)),
        whole_(std::move(whole)),
        swaps_before_(part_->swap_counters()),
        swaps_(swaps_before_) {}

  void set_type_diameters(const std::vector<double>& diameters) override {
    whole_.type_diameters = diameters;
  }
  Grid grid() const override { return part_->grid(); }
  std::size_t particles() const override { return whole_.particles; }
  double max_overlap() const override {
    std::vector<double> r(whole_.particles * static_cast<std::size_t>(whole_.dimensions()));
    positions(r.data());
    if (!whole_.swaps()) return deepest_overlap(whole_, r.data());
    State present = whole_;
    present.parameters.diameters = diameters();
    return deepest_overlap(present, r.data());
  }
  void set_volume_sampling(std::uint64_t record) override { part_->set_volume_sampling(record); }
  std::vector<double> take_volumes(std::vector<std::uint64_t>& cycles) override {
    return part_->take_volumes(cycles);  // the same on all ranks
  }
  TrialCounters volume_counters() const override { return part_->volume_counters(); }
  TrialCounters swap_counters() const override { return swaps_; }
  std::vector<double> diameters() const override {
    return on_all([&] { return diameters_on_all(part_->snapshot()); });
  }
  std::uint64_t state_hash() const override {
    return on_all([&] {
      const Snapshot mine = part_->snapshot();
      std::uint64_t sums[2] = {sum_over_particles(whole_, mine), mine.ids.size()};
      ranks_.sum(sums, 2);
      if (sums[1] != whole_.particles)
        throw std::runtime_error("a particle is lost: the state is corrupt");
      Snapshot all = mine;
      all.diameters = diameters_on_all(mine);
      all.swap_trials = swaps_.trials;
      all.swap_accepted = swaps_.accepted;
      return hash_of(whole_, hash_of(sums[0], counters()), all);
    });
  }
  Snapshot snapshot() const override {
    return on_all([&] {
      Snapshot mine = part_->snapshot();
      mine.counters = counters();
      mine.swap_trials = swaps_.trials;
      mine.swap_accepted = swaps_.accepted;
      return bring_together(ranks_, whole_, mine);
    });
  }

 private:
  void add_up() override {
    const Grid now = part_->grid();
    std::copy_n(now.box, whole_.dimensions(), whole_.parameters.box);
    std::copy_n(now.extent, whole_.dimensions(), whole_.extent.begin());
    if (!whole_.swaps()) return;
    const TrialCounters mine = part_->swap_counters();
    std::uint64_t swaps[2] = {mine.trials - swaps_before_.trials,
                              mine.accepted - swaps_before_.accepted};
    ranks_.sum(swaps, 2);
    swaps_ = {swaps_before_.trials + swaps[0], swaps_before_.accepted + swaps[1]};
  }
  // [N], from the diameters of each rank's particles; empty without swap moves. Collective.
  std::vector<double> diameters_on_all(const Snapshot& mine) const {
    if (!whole_.swaps()) return {};
    struct Item {
      std::uint32_t id;
      double diameter;
    };
    std::vector<Item> items;
    for (std::size_t i = 0; i < mine.ids.size(); ++i)
      items.push_back({mine.ids[i], mine.diameters[i]});
    std::vector<double> all(whole_.particles);
    for (const Item& item : collect(ranks_, std::move(items))) all[item.id] = item.diameter;
    return all;
  }
  std::vector<ParticlePosition> positions_here() const override {
    return particle_positions(whole_, part_->snapshot());
  }

  State whole_;                       // without its particles
  const TrialCounters swaps_before_;  // each part began with those of the whole
  TrialCounters swaps_;
};

}  // namespace

GridRows rows_of(const State& s) {
  const int last = s.dimensions() - 1;
  return {s.geometry.cells[last], s.geometry.tiles[last], s.geometry.tile[last], last == 2};
}

int row_of(const State& s, const Snapshot& data, std::int64_t place) {
  const auto last = static_cast<std::size_t>(s.dimensions() - 1);
  const std::int64_t x = place - data.origin[last];
  const auto width = 2 * static_cast<std::int64_t>(s.geometry.half[last]);
  return static_cast<int>((x < 0 ? x + s.extent[last] : x) / width);
}

State make_part(std::size_t particles, const Parameters& parameters, const Snapshot& header,
                Communicator& ranks) {
  State s;
  s.parameters = parameters;
  s.particles = particles;
  choose_grid(s);
  if (s.constant_pressure() && parameters.edges_apart)
    adopt_edges(s, header.extent);
  else if (s.constant_pressure())
    adopt_volume(s, header.volume);
  s.strip.emplace(rows_of(s), ranks.rank(), ranks.ranks());
  s.ranks = &ranks;
  return s;
}

// Each rank checks an equal share of the rows, and their pairs with the row above them. In its grid
// an empty row follows, so that nothing reaches around.
bool is_legal_on_ranks(const State& s, const Snapshot& mine) {
  const auto D = static_cast<std::size_t>(s.dimensions()), last = D - 1;
  const int rows = s.geometry.cells[last], ranks = s.ranks->ranks();
  const auto width = 2 * static_cast<std::int64_t>(s.geometry.half[last]);
  const auto first = [&](int rank) {
    return static_cast<int>(static_cast<std::int64_t>(rows) * rank / ranks);
  };
  Parts parts(static_cast<std::size_t>(ranks));
  for (std::size_t i = 0; i < mine.ids.size(); ++i) {
    const std::int64_t* const place = &mine.places[i * D];
    const int row = row_of(s, mine, place[last]);
    std::int64_t within = place[last] - mine.origin[last];
    within += (within < 0 ? s.extent[last] : 0) - row * width;
    const auto send = [&](int rank, int there) {
      const auto to = static_cast<std::size_t>(rank);
      parts.add(to, mine, i, D);
      parts.places[to].back() = there * width + within;
    };
    for (int rank = 0; rank < ranks; ++rank) {
      const int own = first(rank + 1) - first(rank);
      if (row >= first(rank) && row < first(rank + 1)) send(rank, row - first(rank));
      if (own > 0 && row == first(rank + 1) % rows) send(rank, own);
    }
  }
  Snapshot here = parts.deliver_to(*s.ranks);
  here.origin = mine.origin;
  here.origin[last] = 0;
  State part = s;
  part.strip.reset();
  part.geometry.cells[last] = first(s.ranks->rank() + 1) - first(s.ranks->rank()) + 2;
  part.extent[last] = part.geometry.cells[last] * width;
  for (std::size_t i = 0; i < here.diameters.size(); ++i)
    set_diameter(part, here.ids[i], here.diameters[i]);
  std::uint64_t illegal = !is_legal(part, here);
  s.ranks->sum(&illegal, 1);
  return illegal == 0;
}

Cells divide_again(State& s, Snapshot mine) {
  try {
    s.strip.emplace(rows_of(s), s.ranks->rank(), s.ranks->ranks());
  } catch (const std::invalid_argument& error) {
    throw std::runtime_error(
        text_of(error.what(), "; continue from the last checkpoint on fewer ranks"));
  }
  const std::array<std::int64_t, 3> origin = mine.origin;
  mine = parts_of(s, mine).deliver_to(*s.ranks);
  mine.origin = origin;
  for (std::size_t i = 0; i < mine.diameters.size(); ++i)
    set_diameter(s, mine.ids[i], mine.diameters[i]);
  return cells_of(s, mine);
}

Snapshot make_snapshot(const double* coordinates, std::size_t particles,
                       const Parameters& parameters, Repair& repair) {
  State s = make_state(coordinates, particles, parameters);
  repair = s.repair;
  s.data.extent = s.extent;
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
    Snapshot header = header_of(ranks, whole);
    together(ranks, [&] { part = make_part(particles, parameters, header, ranks); });
    Snapshot mine = deal_out(ranks, part, whole, std::move(header));
    auto of_part = engine_on(device, threads, [&] {
      State state = part;
      state.data = std::move(mine);
      return state;
    });
    engine = std::make_unique<DistributedEngine>(ranks, std::move(of_part), std::move(part));
  });
  return engine;
}

}  // namespace manymove::hard_particles::particles
