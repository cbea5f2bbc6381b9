// SPDX-License-Identifier: BSD-3-Clause
#include "strip.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "../runtime/errors.h"

namespace manymove::hard_particles {
namespace {

// Another rank's edge, with tiles of unequal width between, moves by one row more than the first
// one's, and a tile reads two rows beyond its own (land()).
constexpr int kBeyondReach = 3;
// The edge of the first strip finds that of a tile within half a tile.
int fewest_needed(const GridRows& whole) { return whole.widest / 2 + kBeyondReach; }

// The fewest rows of a strip.
int fewest_rows(const GridRows& whole, int ranks) {
  return static_cast<int>(std::int64_t{whole.tiles / ranks} * whole.cells / whole.tiles);
}

bool fits(const GridRows& whole, int ranks) {
  return fewest_rows(whole, ranks) >= fewest_needed(whole);
}

// The widest narrower tile for which so many ranks fit, of four cells at least, which swap moves
// need; 0 if there is none.
int tile_for(GridRows whole, int ranks) {
  while (--whole.widest >= 4) {
    whole.tiles = (whole.cells + whole.widest - 1) / whole.widest;
    if (fits(whole, ranks)) return whole.widest;
  }
  return 0;
}

}  // namespace

Strip::Strip(const GridRows& whole, int rank, int ranks)
    : whole_(whole), rank_(rank), ranks_(ranks) {
  if (!fits(whole, ranks)) {
    int most = ranks - 1;
    while (most > 1 && !fits(whole, most)) --most;
    const char* const rows = whole.layers ? " layers" : " rows";
    const std::string problem =
        text_of("the box is too small for ", ranks, " ranks: ", whole.layers ? "slabs" : "strips",
                " of whole tiles and at least ", fewest_needed(whole), rows, " of cells, of ",
                whole.cells, rows, " in ", whole.tiles, rows, " of tiles, allow ", most);
    if (const int tile = tile_for(whole, ranks))
      refuse(Parameter{"tile"}, "must be narrower, for example ", tile, ": ", problem);
    throw std::invalid_argument(problem);
  }
  // The edge is within half a tile of its home before and after a shift, if the neighbor has as
  // many rows as lie between.
  reach_ = std::min(whole.widest, fewest_rows(whole, ranks) - kBeyondReach);
  margin_ = reach_ + kBeyondReach;
  const std::int64_t most_tiles = (whole.tiles + ranks - 1) / ranks;
  most_rows_ = static_cast<int>((most_tiles * whole.cells + whole.tiles - 1) / whole.tiles);
  place();
}

int Strip::cut(int tile_row) const {
  return static_cast<int>(std::int64_t{tile_row} * whole_.cells / whole_.tiles);
}

int Strip::edge(int rank) const {
  const int from_first = static_cast<int>(std::int64_t{rank % ranks_} * whole_.tiles / ranks_);
  return (first_tile_row_ + from_first) % whole_.tiles;
}

// The shortest way around the box.
int Strip::centered(int rows) const {
  rows = (rows % whole_.cells + whole_.cells) % whole_.cells;
  return 2 * rows > whole_.cells ? rows - whole_.cells : rows;
}

void Strip::place() {
  const int below = edge(rank_), above = edge(rank_ + 1);
  tile_rows_ = (above - below + whole_.tiles - 1) % whole_.tiles + 1;
  first_row_ = cut(below);
  rows_ = (cut(above) - first_row_ + whole_.cells - 1) % whole_.cells + 1;
}

HaloRows Strip::advance(int shift, int home) {
  const int old_rows = rows_, lower = first_row_, upper = cut(edge(rank_ + 1));
  const int first = cut(edge(0));
  const auto way = [&](int tile_row, int from) { return centered(cut(tile_row) + shift - from); };
  // The tiles within reach that lie nearest to the home of the first strip; the others follow.
  int nearest = -1;
  for (int tile_row = 0; tile_row < whole_.tiles; ++tile_row)
    if (std::abs(way(tile_row, first)) <= reach_ &&
        (nearest < 0 || std::abs(way(tile_row, home)) < std::abs(way(nearest, home))))
      nearest = tile_row;
  first_tile_row_ = nearest;
  place();
  moved_ = way(edge(rank_), lower);
  const int moved_above = way(edge(rank_ + 1), upper);

  const auto positive = [](int n) { return n > 0 ? n : 0; };
  // The edges moved by moved_ and moved_above rows. What a strip loses at an edge its neighbor
  // needs, and two rows more, because a tile reads two rows beyond its own.
  const HaloRows c{positive(moved_ + 2), positive(-moved_above), positive(-moved_),
                   positive(moved_above + 2)};
  waiting_below_ = waiting_above_ = 0;
  for (int t = 0; t < tile_rows_; ++t) {
    // The rows of the old strip that land in these tiles, two of them from beyond their own.
    const int tiles = tile_row(t), above_first = cut(tiles) - first_row_;
    const int first = (above_first < 0 ? above_first + whole_.cells : above_first) + moved_;
    const int end = first + cut(tiles + 1) - cut(tiles) + 2;
    waiting_below_ += first < 0;
    waiting_above_ += first >= 0 && end > old_rows;
  }
  return c;
}

std::vector<int> first_strips(const GridRows& whole, int ranks) {
  std::vector<int> rows;
  for (int rank = 0; rank < ranks; ++rank) rows.push_back(Strip(whole, rank, ranks).first_row());
  rows.push_back(whole.cells);
  return rows;
}

}  // namespace manymove::hard_particles
