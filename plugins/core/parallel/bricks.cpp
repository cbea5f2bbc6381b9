// SPDX-License-Identifier: BSD-3-Clause
#include "bricks.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "../runtime/text.h"

namespace manymove {
namespace {

// What lies between two planes belongs to one rank: the integers from the first to before the
// second.
std::vector<std::uint64_t> integers_of(const std::vector<double>& cuts, int axis) {
  std::vector<std::uint64_t> places;
  for (const double cut : cuts)
    places.push_back(static_cast<std::uint64_t>(std::llrint(std::clamp(cut, 0.0, 1.0) * 0x1p32)));
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
Brick grown(const Brick& part, const std::uint64_t reach[3]) {
  Brick result = part;
  for (int a = 0; a < 3; ++a) {
    const std::uint64_t beyond = part.beyond[a] + 2 * reach[a];
    const bool all = beyond >= 0xffffffffu;
    result.low[a] = all ? 0 : part.low[a] - static_cast<std::uint32_t>(reach[a]);
    result.beyond[a] = all ? 0xffffffffu : static_cast<std::uint32_t>(beyond);
  }
  return result;
}

bool overlap(const Brick& a, const Brick& b) {
  for (int k = 0; k < 3; ++k)
    // Neither begins within the other; the differences wrap around the frame.
    if (b.low[k] - a.low[k] > a.beyond[k] && a.low[k] - b.low[k] > b.beyond[k]) return false;
  return true;
}

}  // namespace

BrickDecomposition::BrickDecomposition(Communicator& communicator,
                                       const std::vector<double> (&cut)[3],
                                       const std::vector<int>& rank, const double (&reach)[3])
    : communicator_(&communicator) {
  std::vector<std::uint64_t> cuts[3];
  std::uint64_t units[3];  // of the reach
  std::size_t bricks = 1;
  for (int a = 0; a < 3; ++a) {
    cuts[a] = integers_of(cut[a], a);
    bricks *= cuts[a].size() - 1;
    // Four integers more than the reach, because coordinates have been rounded.
    units[a] = static_cast<std::uint64_t>(std::min(reach[a], 1.0) * 0x1p32) + 4;
  }
  if (bricks != rank.size() || bricks != static_cast<std::size_t>(ranks()))
    throw std::invalid_argument(text_of("a grid of ", bricks, " parts for ", ranks(), " ranks"));
  parts_.resize(bricks);
  reached_.resize(bricks);
  const std::size_t nx = cuts[0].size() - 1, ny = cuts[1].size() - 1;
  for (std::size_t c = 0; c < bricks; ++c) {
    // Part c = (z n_y + y) n_x + x of the grid belongs to rank[c].
    const std::size_t at[3] = {c % nx, c / nx % ny, c / (nx * ny)};
    Brick brick;
    for (int a = 0; a < 3; ++a) {
      brick.low[a] = static_cast<std::uint32_t>(cuts[a][at[a]]);
      // One less than the width, because a whole axis has 2^32.
      brick.beyond[a] = static_cast<std::uint32_t>(cuts[a][at[a] + 1] - cuts[a][at[a]] - 1);
    }
    const auto r = static_cast<std::size_t>(rank[c]);
    parts_.at(r) = brick;
    reached_[r] = grown(brick, units);
  }
  const Brick& own = parts_[static_cast<std::size_t>(this->rank())];
  for (int r = 0; r < ranks(); ++r)
    if (r != this->rank() && overlap(own, reached_[static_cast<std::size_t>(r)]))
      neighbors_.push_back(r);
}

int BrickDecomposition::owner(std::uint32_t x, std::uint32_t y, std::uint32_t z) const {
  // Nearly all particles keep their place.
  if (is_in(parts_[static_cast<std::size_t>(rank())], x, y, z)) return rank();
  const auto part = std::find_if(parts_.begin(), parts_.end(),
                                 [&](const Brick& part) { return is_in(part, x, y, z); });
  return static_cast<int>(part - parts_.begin());
}

}  // namespace manymove
