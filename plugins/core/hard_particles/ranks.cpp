// SPDX-License-Identifier: BSD-3-Clause
// A system that ranks divide (strip.h): how its particles come to the ranks and back. What answers
// for all ranks together is StateEngine.
#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "../runtime/text.h"
#include "cells_of_disks.h"
#include "grid.h"
#include "state.h"

namespace manymove::hard_particles {
namespace {

// What goes from rank to rank of the particles: their indices, places and, with swap moves, their
// diameters. They keep the order in which they are added.
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
    // Strips divide the last axis.
    const int row = row_of(part, data, data.places[i * D + D - 1]);
    const auto rank =
        static_cast<std::size_t>(std::upper_bound(first.begin(), first.end(), row) - first.begin());
    shares.add(rank - 1, data, i, D);
  }
  return shares;
}

// ---- from rank 0 to all ranks ----

// Calls visit(field) for the fields of a snapshot that are not arrays of particles.
void for_each_header_field(auto& data, auto&& visit) {
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
  // All ranks send the same number of bytes; only the bytes of rank 0 are used.
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
Snapshot deal_out(const State& part, const Snapshot* whole, const Snapshot& header) {
  Shares shares(static_cast<std::size_t>(part.ranks->ranks()));
  if (part.ranks->rank() == 0 && part.equal_disks()) {
    State all = frame_of(part);
    all.strip.reset();
    all.data.origin = header.origin;
    shares = shares_of(part, particles_in(all, cells_of_disks(all, *whole)));
  } else if (part.ranks->rank() == 0) {
    shares = shares_of(part, *whole);
  }
  for (std::vector<double>& each : shares.diameters) each.clear();
  Snapshot mine = shares.deliver_to(*part.ranks);
  mine.origin = header.origin;
  return mine;
}

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
  adopt_box(s, header);
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
std::optional<std::uint64_t> legal_energy_on_ranks(const State& s, const Snapshot& mine) {
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
      // Its place in the rank's grid, where rows count from the rank's first.
      shares.places[to].back() = there * width + within;
    };
    for (int rank = 0; rank < ranks; ++rank) {
      const int own = first(rank + 1) - first(rank);
      // To the rank that checks the row, and to the one below, whose last row has pairs with it.
      if (row >= first(rank) && row < first(rank + 1)) send(rank, row - first(rank));
      if (own > 0 && row == first(rank + 1) % rows) send(rank, own);
    }
  }
  Snapshot here = shares.deliver_to(*s.ranks);
  here.origin = mine.origin;
  here.origin[last] = 0;
  State part = s;
  part.strip.reset();
  // Own rows, the one above, and the empty one.
  const int own = first(s.ranks->rank() + 1) - first(s.ranks->rank());
  part.geometry.cells[last] = own + 2;
  part.extent[last] = part.geometry.cells[last] * width;
  for (std::size_t i = 0; i < here.diameters.size(); ++i)
    set_diameter(part, here.indices[i], here.diameters[i]);
  const std::optional<std::uint64_t> energy = legal_energy(part, here, own);
  std::uint64_t sums[2] = {!energy, energy.value_or(0)};  // modulo 2^64
  s.ranks->sum(sums, 2);
  return sums[0] == 0 ? std::optional(sums[1]) : std::nullopt;
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

Snapshot particles_of_all(const State& s, const Snapshot& mine) {
  const auto D = static_cast<std::size_t>(s.dimensions());
  Shares shares(static_cast<std::size_t>(s.ranks->ranks()));
  // Rank 0 gets the particles of all; the others end with the box alone.
  for (std::size_t i = 0; i < mine.indices.size(); ++i) shares.add(0, mine, i, D);
  Snapshot all = shares.deliver_to(*s.ranks);
  all.origin = s.data.origin;
  if (s.ranks->rank() == 0) return s.equal_disks() ? all : by_index(s, all);
  all = s.data;
  all.extent = s.extent;
  return all;
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
    const Snapshot mine = deal_out(part, whole, header);
    engine = engine_on(device, threads, [&] {
      part.data = std::move(header);
      part.start = cells_of(part, mine);
      return std::move(part);
    });
  });
  return engine;
}

}  // namespace manymove::hard_particles
