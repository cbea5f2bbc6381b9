// SPDX-License-Identifier: BSD-3-Clause
#include "decomposition.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <unordered_map>

#include "../runtime/text.h"
#include "settings.h"

namespace manymove::dpd {
namespace {

// Particles with a position between two cuts belong to one rank: the integers from the first to
// before the second.
std::vector<std::uint64_t> integers_of(const std::vector<double>& cuts, bool periodic, int axis) {
  std::vector<std::uint64_t> places;
  for (const double cut : cuts)
    places.push_back(static_cast<std::uint64_t>(
        std::llrint(std::clamp(periodic ? cut : 0.25 + 0.5 * cut, 0.0, 1.0) * 0x1p32)));
  if (places.size() < 2) throw std::invalid_argument("a grid of ranks without parts");
  places.front() = 0;
  places.back() = std::uint64_t(1) << 32;
  for (std::size_t k = 1; k < places.size(); ++k)
    if (places[k] <= places[k - 1])
      throw std::invalid_argument(
          text_of("the parts of ranks along ", "xyz"[axis], " have no width"));
  return places;
}

// With what is in reach of it on both sides.
Part grown(const Part& part, const std::uint64_t reach[3]) {
  Part result = part;
  for (int a = 0; a < 3; ++a) {
    const std::uint64_t beyond = part.beyond[a] + 2 * reach[a];
    const bool all = beyond >= 0xffffffffu;
    result.low[a] = all ? 0 : part.low[a] - static_cast<std::uint32_t>(reach[a]);
    result.beyond[a] = all ? 0xffffffffu : static_cast<std::uint32_t>(beyond);
  }
  return result;
}

bool overlap(const Part& a, const Part& b) {
  for (int k = 0; k < 3; ++k)
    if (b.low[k] - a.low[k] > a.beyond[k] && a.low[k] - b.low[k] > b.beyond[k]) return false;
  return true;
}

}  // namespace

double common_share(const Part& a, const Part& b, int axis) {
  const double whole = 0x1p32, from = b.low[axis] - a.low[axis];  // of b, as a sees it
  const double a_ends = a.beyond[axis] + 1.0, b_ends = from + b.beyond[axis] + 1.0;
  const double ahead = std::min(a_ends, b_ends) - from, around = std::min(a_ends, b_ends - whole);
  return (std::max(ahead, 0.0) + std::max(around, 0.0)) / whole;
}

void Arrival::enter(const HostArrays& arrays) const {
  if (arrays.position) std::copy_n(position, 3, arrays.position[index]);
  if (arrays.velocity) std::copy_n(velocity, 3, arrays.velocity[index]);
  if (arrays.force) std::copy_n(force, 3, arrays.force[index]);
  if (arrays.image) std::copy_n(image, 3, arrays.image[index]);
}

Decomposition::Decomposition(const Settings& settings, Communicator& communicator, double ahead)
    : communicator_(communicator) {
  const Grid& grid = settings.grid;
  std::vector<std::uint64_t> cuts[3];
  std::uint64_t reach[3];
  double width[3];
  widths_of(settings.box, width);
  std::size_t cells = 1;
  for (int a = 0; a < 3; ++a) {
    cuts[a] = integers_of(grid.cut[a], settings.box.periodic[a], a);
    cells *= cuts[a].size() - 1;
    // Longer by more than the rounding of positions, and than lists reach (Cells::cutoff).
    const double frame = settings.box.periodic[a] ? width[a] : 2 * width[a],
                 part = (settings.cutoff + settings.skin + ahead) * (1 + 2e-5) / frame;
    reach[a] = static_cast<std::uint64_t>(std::min(part, 1.0) * 0x1p32) + 4;
  }
  if (cells != grid.rank.size() || cells != static_cast<std::size_t>(ranks()))
    throw std::invalid_argument(text_of("a grid of ", cells, " parts for ", ranks(), " ranks"));
  parts_.resize(cells);
  reached_.resize(cells);
  const std::size_t nx = cuts[0].size() - 1, ny = cuts[1].size() - 1;
  for (std::size_t c = 0; c < cells; ++c) {
    const std::size_t at[3] = {c % nx, c / nx % ny, c / (nx * ny)};
    Part part;
    for (int a = 0; a < 3; ++a) {
      part.low[a] = static_cast<std::uint32_t>(cuts[a][at[a]]);
      part.beyond[a] = static_cast<std::uint32_t>(cuts[a][at[a] + 1] - cuts[a][at[a]] - 1);
    }
    const auto r = static_cast<std::size_t>(grid.rank[c]);
    parts_.at(r) = part;
    reached_[r] = grown(part, reach);
  }
  for (int r = 0; r < ranks(); ++r)
    if (r != rank() &&
        overlap(parts_[static_cast<std::size_t>(rank())], reached_[static_cast<std::size_t>(r)]))
      neighbors_.push_back(r);
}

int Decomposition::owner(std::uint32_t x, std::uint32_t y, std::uint32_t z) const {
  if (is_in(parts_[static_cast<std::size_t>(rank())], x, y, z)) return rank();
  const auto part = std::find_if(parts_.begin(), parts_.end(),
                                 [&](const Part& part) { return is_in(part, x, y, z); });
  return static_cast<int>(part - parts_.begin());
}

std::int64_t Decomposition::sum(std::int64_t value) const {
  std::vector<std::int64_t> all(parts_.size());
  communicator_.gather(&value, all.data(), sizeof value);
  std::int64_t sum = 0;
  for (const std::int64_t each : all) sum += each;
  return sum;
}

// Both sides meet on the rank that the tag names.
std::vector<Origin> find_origins(Communicator& communicator,
                                 const std::vector<std::uint32_t>& asked, int count,
                                 const std::uint32_t* tag) {
  struct Entry {
    std::uint32_t tag;
    std::int32_t rank, index;
  };
  const int rank = communicator.rank();
  const auto parts = static_cast<std::uint32_t>(communicator.ranks());
  std::vector<std::vector<Entry>> hosts(parts), questions(parts);
  for (int i = 0; i < count; ++i) hosts[tag[i] % parts].push_back({tag[i], rank, i});
  for (std::size_t i = 0; i < asked.size(); ++i)
    questions[asked[i] % parts].push_back({asked[i], rank, static_cast<std::int32_t>(i)});
  std::unordered_map<std::uint32_t, Origin> origins;
  for (const Entry& entry : deliver(communicator, std::move(hosts)))
    origins[entry.tag] = {entry.rank, entry.index};
  struct Answer {
    std::int32_t index;
    Origin origin;
  };
  std::vector<std::vector<Answer>> found(parts);
  std::int64_t missing = 0;
  for (const Entry& entry : deliver(communicator, std::move(questions))) {
    const auto origin = origins.find(entry.tag);
    if (origin == origins.end())
      missing = entry.tag;
    else
      found[static_cast<std::size_t>(entry.rank)].push_back({entry.index, origin->second});
  }
  communicator.maximum(&missing, 1);
  if (missing) throw std::runtime_error(text_of("particle ", missing, " is on no rank"));
  std::vector<Origin> result(asked.size());
  for (const Answer& answer : deliver(communicator, std::move(found)))
    result[static_cast<std::size_t>(answer.index)] = answer.origin;
  return result;
}

std::vector<std::array<double, 3>> fetch_from_origins(Communicator& communicator,
                                                      const std::vector<Origin>& origins,
                                                      const double (*value)[3]) {
  using Triple = std::array<double, 3>;
  const auto ranks = static_cast<std::size_t>(communicator.ranks());
  const auto get = [&](std::int32_t i) { return Triple{value[i][0], value[i][1], value[i][2]}; };
  std::vector<std::vector<std::int32_t>> asked(ranks);
  for (const Origin& origin : origins)
    if (origin.rank != communicator.rank())
      asked[static_cast<std::size_t>(origin.rank)].push_back(origin.index);
  std::vector<std::int64_t> numbers;
  const auto wanted = deliver(communicator, std::move(asked), &numbers);
  std::vector<std::vector<Triple>> answers(ranks);
  auto next = wanted.begin();
  for (std::size_t r = 0; r < ranks; ++r)
    for (std::int64_t k = 0; k < numbers[r]; ++k) answers[r].push_back(get(*next++));
  // Answers arrive in the order of ranks, and those of a rank in the order of the questions.
  const auto arrived = deliver(communicator, std::move(answers), &numbers);
  std::vector<std::size_t> at(ranks);
  for (std::size_t r = 1; r < ranks; ++r)
    at[r] = at[r - 1] + static_cast<std::size_t>(numbers[r - 1]);
  std::vector<Triple> result;
  result.reserve(origins.size());
  for (const Origin& origin : origins)
    result.push_back(origin.rank == communicator.rank()
                         ? get(origin.index)
                         : arrived[at[static_cast<std::size_t>(origin.rank)]++]);
  return result;
}

}  // namespace manymove::dpd
