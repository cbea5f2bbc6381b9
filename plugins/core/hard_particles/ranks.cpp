// SPDX-License-Identifier: BSD-3-Clause
#include "ranks.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "../runtime/text.h"
#include "cells_of_disks.h"
#include "constant_pressure/edges.h"
#include "constant_pressure/volume.h"
#include "grid.h"

namespace manymove::hard_particles {
namespace {

// ---- particles by themselves, of the policy `Particles` ----

// What crosses from rank to rank of the particles: their indices, places and, with swap moves,
// their diameters.
struct Shares {
  explicit Shares(std::size_t ranks) : indices(ranks), places(ranks), diameters(ranks) {}
  void add(std::size_t rank, const Snapshot& data, std::size_t i, std::size_t dimensions) {
    const auto place = data.places.begin() + static_cast<std::ptrdiff_t>(i * dimensions);
    indices[rank].push_back(data.index(i));
    places[rank].insert(places[rank].end(), place, place + static_cast<std::ptrdiff_t>(dimensions));
    if (!data.diameters.empty()) diameters[rank].push_back(data.diameters[i]);
  }
  // What this rank is sent. Collective.
  Snapshot deliver_to(Communicator& communicator) {
    Snapshot mine;
    mine.indices = deliver(communicator, std::move(indices));
    mine.places = deliver(communicator, std::move(places));
    mine.diameters = deliver(communicator, std::move(diameters));
    return mine;
  }

  std::vector<std::vector<std::uint32_t>> indices;
  std::vector<std::vector<std::int64_t>> places;
  std::vector<std::vector<double>> diameters;
};

// The particles of a snapshot to the ranks in whose strips they are.
Shares shares_of(const State& part, const Snapshot& data) {
  const auto number = static_cast<std::size_t>(part.ranks->ranks());
  const auto D = static_cast<std::size_t>(part.dimensions());
  Shares shares(number);
  const std::vector<int> first = first_strips(rows_of(part), part.ranks->ranks());
  for (std::size_t i = 0; i < data.places.size() / D; ++i) {
    const int row = row_of(part, data, data.places[i * D + D - 1]);
    const auto rank =
        static_cast<std::size_t>(std::upper_bound(first.begin(), first.end(), row) - first.begin());
    shares.add(rank - 1, data, i, D);
  }
  return shares;
}

// What all ranks have, as the snapshot of the whole on rank 0. Collective.
Snapshot particles_of_all(Communicator& ranks, const State& whole, const Snapshot& part) {
  const auto D = static_cast<std::size_t>(whole.dimensions());
  Shares shares(static_cast<std::size_t>(ranks.ranks()));
  for (std::size_t i = 0; i < part.indices.size(); ++i) shares.add(0, part, i, D);
  const Snapshot found = shares.deliver_to(ranks);
  Snapshot all = part;
  all.indices.clear();
  all.places.clear();
  all.diameters.clear();
  if (ranks.rank() > 0) return all;
  all.places.assign(whole.particles * D, -1);
  if (whole.swaps()) all.diameters.resize(whole.particles);
  for (std::size_t i = 0; i < found.indices.size(); ++i) {
    std::copy_n(&found.places[i * D], D, &all.places[found.indices[i] * D]);
    if (whole.swaps()) all.diameters[found.indices[i]] = found.diameters[i];
  }
  if (found.indices.size() != whole.particles ||
      std::count(all.places.begin(), all.places.end(), -1))
    throw std::runtime_error("a particle is lost: the state is corrupt");
  return all;
}

// ---- rows of cells, of equal disks, whose order in the cells is part of the state ----

// The strips of rank 0's rows; edges: first_strips(). Collective.
template <class T>
std::vector<T> strip_of(Communicator& ranks, const std::vector<T>& whole,
                        const std::vector<int>& edges) {
  std::vector<std::vector<T>> sent(static_cast<std::size_t>(ranks.ranks()));
  const std::size_t row = whole.size() / static_cast<std::size_t>(edges.back());
  const auto at = [&](std::size_t r) {
    return whole.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(edges[r]) * row);
  };
  for (std::size_t r = 0; r < sent.size() && ranks.rank() == 0; ++r)
    sent[r].assign(at(r), at(r + 1));
  return deliver(ranks, std::move(sent));
}
// The arrays of the ranks' strips as that of all rows, on rank 0. Collective.
template <class T>
std::vector<T> rows_of_all(Communicator& ranks, std::vector<T> strip, int first_row,
                           std::size_t row) {
  std::vector<std::vector<T>> sent(static_cast<std::size_t>(ranks.ranks()));
  sent[0] = std::move(strip);
  std::vector<T> all = deliver(ranks, std::move(sent));
  // The rows begin with those of rank 0's strip.
  if (ranks.rank() == 0)
    std::rotate(all.begin(), all.end() - static_cast<std::ptrdiff_t>(first_row * row), all.end());
  return all;
}
// An array of a strip's rows with room for the margins of its local storage.
template <class T>
std::vector<T> with_margins(const Strip& strip, const std::vector<T>& rows, T empty) {
  const std::size_t row = rows.size() / static_cast<std::size_t>(strip.rows());
  std::vector<T> all(static_cast<std::size_t>(strip.capacity()) * row, empty);
  std::copy(rows.begin(), rows.end(),
            all.begin() + static_cast<std::ptrdiff_t>(strip.margin() * row));
  return all;
}

// ---- from rank 0 to all ranks ----

// Calls visit(field) for the fields of a snapshot that are not arrays of particles.
template <class AnySnapshot, class Visitor>
void for_each_header_field(AnySnapshot& data, Visitor&& visit) {
  for_each_field(data, [&](const char*, auto&... fields) {
    const auto one = [&](auto& field) {
      if constexpr (std::is_trivially_copyable_v<std::remove_reference_t<decltype(field)>>)
        visit(field);
    };
    (one(fields), ...);
  });
}
// What is not of single particles in the snapshot of the whole, which rank 0 has. Collective.
Snapshot header_of(Communicator& ranks, const Snapshot* whole) {
  const Snapshot nothing;
  std::vector<std::byte> bytes;
  for_each_header_field(ranks.rank() == 0 ? *whole : nothing, [&](const auto& field) {
    const auto* const first = reinterpret_cast<const std::byte*>(&field);
    bytes.insert(bytes.end(), first, first + sizeof field);
  });
  std::vector<std::byte> all(bytes.size() * static_cast<std::size_t>(ranks.ranks()));
  ranks.gather(bytes.data(), all.data(), bytes.size());
  Snapshot header;
  const std::byte* at = all.data();  // rank 0 comes first
  for_each_header_field(header, [&](auto& field) {
    std::memcpy(&field, at, sizeof field);
    at += sizeof field;
  });
  return header;
}

// This rank's part of what rank 0 has; the diameters are those of the parameters. Collective.
Snapshot deal_out(Communicator& ranks, const State& part, const Snapshot* whole, Snapshot header) {
  if (part.equal_disks()) {
    const Strip& strip = *part.strip;
    const std::vector<int> edges = first_strips(rows_of(part), ranks.ranks());
    const Snapshot nothing;
    const Snapshot& all = ranks.rank() == 0 ? *whole : nothing;
    header.cells = with_margins(strip, strip_of(ranks, all.cells, edges), equal_disks::kEmpty);
    header.ids = with_margins(strip, strip_of(ranks, all.ids, edges), -1);
    return header;
  }
  Shares shares(static_cast<std::size_t>(ranks.ranks()));
  if (ranks.rank() == 0) shares = shares_of(part, *whole);
  for (std::vector<double>& each : shares.diameters) each.clear();
  Snapshot mine = shares.deliver_to(ranks);
  header.indices = std::move(mine.indices);
  header.places = std::move(mine.places);
  return header;
}

// ---- the engine ----

class EngineOfRanks final : public Engine {
 public:
  EngineOfRanks(Communicator& ranks, std::unique_ptr<Engine> part, State whole)
      : part_(std::move(part)),
        ranks_(ranks),
        whole_(std::move(whole)),
        before_(part_->counters()),
        swaps_before_(part_->swap_counters()),
        counters_(before_),
        swaps_(swaps_before_) {}

  void enqueue(std::uint64_t cycles) override {
    on_all([&] {
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
    const auto d = static_cast<std::size_t>(whole_.dimensions());
    on_all([&] {
      for (const ParticlePosition& each : collect(ranks_, positions_here()))
        std::copy_n(each.r.begin(), d, coordinates + d * each.particle);
    });
  }

  bool same_positions(const HostParticles&) const override { refuse(); }
  bool enqueue_if_same(std::uint64_t, const HostParticles&) override { refuse(); }
  void enqueue(std::uint64_t, const HostParticles&) override { refuse(); }
  void write_positions(const HostParticles&) override { refuse(); }

  void set_type_diameters(const std::vector<double>& diameters) override {
    whole_.type_diameters = diameters;
  }
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
      const Snapshot mine = with_places(whole_, part_->snapshot());
      std::uint64_t sums[2] = {sum_over_particles(whole_, mine), mine.indices.size()};
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
      if (!whole_.equal_disks()) return particles_of_all(ranks_, whole_, mine);
      const std::size_t row = equal_disks::row_slots(whole_);
      mine.cells = rows_of_all(ranks_, std::move(mine.cells), mine.first_row, 2 * row);
      mine.ids = rows_of_all(ranks_, std::move(mine.ids), mine.first_row, row);
      mine.first_row = 0;
      return mine;
    });
  }

 private:
  // A call that all ranks make and that ends with a collective call, or is followed by one, so that
  // none has left when another fails.
  template <class Task>
  std::invoke_result_t<Task> on_all(Task task) const {
    try {
      return task();
    } catch (...) {
      fail(ranks_.watchdog(), std::current_exception());
    }
  }

  [[noreturn]] static void refuse() {
    throw std::logic_error("an engine of several ranks does not move a host program's particles");
  }

  void add_up_counters() {
    const Counters mine = part_->counters();
    std::uint64_t moves[2] = {mine.trial_moves - before_.trial_moves,
                              mine.accepted_moves - before_.accepted_moves};
    ranks_.sum(moves, 2);
    counters_ = {mine.cycles, before_.trial_moves + moves[0], before_.accepted_moves + moves[1]};
    const Grid now = part_->grid();  // with constant pressure the box has changed
    std::copy_n(now.box, whole_.dimensions(), whole_.parameters.box);
    std::copy_n(now.extent, whole_.dimensions(), whole_.extent.begin());
    if (!whole_.swaps()) return;
    const TrialCounters trials = part_->swap_counters();
    std::uint64_t swaps[2] = {trials.trials - swaps_before_.trials,
                              trials.accepted - swaps_before_.accepted};
    ranks_.sum(swaps, 2);
    swaps_ = {swaps_before_.trials + swaps[0], swaps_before_.accepted + swaps[1]};
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

  // [N], from the diameters of each rank's particles; empty without swap moves. Collective.
  std::vector<double> diameters_on_all(const Snapshot& mine) const {
    if (!whole_.swaps()) return {};
    struct Item {
      std::uint32_t id;
      double diameter;
    };
    std::vector<Item> items;
    for (std::size_t i = 0; i < mine.indices.size(); ++i)
      items.push_back({mine.indices[i], mine.diameters[i]});
    std::vector<double> all(whole_.particles);
    for (const Item& item : collect(ranks_, std::move(items))) all[item.id] = item.diameter;
    return all;
  }
  std::vector<ParticlePosition> positions_here() const {
    return particle_positions(whole_, with_places(whole_, part_->snapshot()));
  }

  std::unique_ptr<Engine> part_;
  Communicator& ranks_;
  State whole_;  // without its particles
  // Each part began with those of the whole.
  const Counters before_;
  const TrialCounters swaps_before_;
  Counters counters_;
  TrialCounters swaps_;
  std::vector<std::uint64_t> rows_, row_cycles_;
};

// Throws, on all ranks, if some are to run on CPUs and others on GPUs. Collective.
void check_devices(Communicator& ranks, const std::string& device) {
  std::int64_t kinds[2] = {device == "cpu", device != "cpu"};
  ranks.maximum(kinds, 2);
  if (kinds[0] && kinds[1])
    together(ranks, [] {
      throw std::invalid_argument(
          "some ranks are to run on CPUs and others on CUDA devices: choose one kind for all");
    });
}

// This rank's part of a system, without its particles; `header` has the volume or the edges of
// constant pressure. Throws std::invalid_argument if the box is too small for so many ranks.
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

// Each rank checks an equal share of the rows, and their pairs with the row above them. In its grid
// an empty row follows, so that nothing reaches around.
bool is_legal_on_ranks(const State& s, const Snapshot& mine) {
  const auto D = static_cast<std::size_t>(s.dimensions()), last = D - 1;
  const int rows = s.geometry.cells[last], ranks = s.ranks->ranks();
  const auto width = 2 * static_cast<std::int64_t>(s.geometry.half[last]);
  const auto first = [&](int rank) {
    return static_cast<int>(static_cast<std::int64_t>(rows) * rank / ranks);
  };
  Shares shares(static_cast<std::size_t>(ranks));
  for (std::size_t i = 0; i < mine.indices.size(); ++i) {
    const std::int64_t* const place = &mine.places[i * D];
    const int row = row_of(s, mine, place[last]);
    std::int64_t within = place[last] - mine.origin[last];
    within += (within < 0 ? s.extent[last] : 0) - row * width;
    const auto send = [&](int rank, int there) {
      const auto to = static_cast<std::size_t>(rank);
      shares.add(to, mine, i, D);
      shares.places[to].back() = there * width + within;
    };
    for (int rank = 0; rank < ranks; ++rank) {
      const int own = first(rank + 1) - first(rank);
      if (row >= first(rank) && row < first(rank + 1)) send(rank, row - first(rank));
      if (own > 0 && row == first(rank + 1) % rows) send(rank, own);
    }
  }
  Snapshot here = shares.deliver_to(*s.ranks);
  here.origin = mine.origin;
  here.origin[last] = 0;
  State part = s;
  part.strip.reset();
  part.geometry.cells[last] = first(s.ranks->rank() + 1) - first(s.ranks->rank()) + 2;
  part.extent[last] = part.geometry.cells[last] * width;
  for (std::size_t i = 0; i < here.diameters.size(); ++i)
    set_diameter(part, here.indices[i], here.diameters[i]);
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
  mine = shares_of(s, mine).deliver_to(*s.ranks);
  mine.origin = origin;
  for (std::size_t i = 0; i < mine.diameters.size(); ++i)
    set_diameter(s, mine.indices[i], mine.diameters[i]);
  return cells_of(s, mine);
}

std::unique_ptr<Engine> make_engine_of_ranks(
    Communicator& ranks, const std::function<std::unique_ptr<Engine>(State& whole)>& make) {
  std::unique_ptr<Engine> engine;
  collective(ranks, [&] {
    State whole;
    auto part = make(whole);
    engine = std::make_unique<EngineOfRanks>(ranks, std::move(part), std::move(whole));
  });
  return engine;
}

std::unique_ptr<Engine> make_engine(const Snapshot* whole, std::size_t particles,
                                    const Parameters& parameters, const std::string& device,
                                    int threads, Communicator& ranks) {
  return make_engine_of_ranks(ranks, [&](State& part) {
    check_devices(ranks, device);
    Snapshot header = header_of(ranks, whole);
    together(ranks, [&] { part = make_part(particles, parameters, header, ranks); });
    Snapshot mine = deal_out(ranks, part, whole, std::move(header));
    return engine_on(device, threads, [&] {
      State state = part;
      state.data = std::move(mine);
      return state;
    });
  });
}

}  // namespace manymove::hard_particles
