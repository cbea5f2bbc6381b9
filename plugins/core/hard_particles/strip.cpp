// SPDX-License-Identifier: BSD-3-Clause
#include "strip.h"

#include <cstdint>
#include <cstdlib>
#include <stdexcept>

#include "../runtime/text.h"

namespace manymove::hard_particles {
namespace {

// An edge finds the next tile's within half a tile; another rank's edge, with tiles of unequal
// width between, within one row more; and a tile reads two rows beyond its own (land()).
int margin_of(const Geometry& g) { return g.tile / 2 + 3; }

// The fewest rows of a strip.
int fewest_rows(const Geometry& g, int ranks) {
  return static_cast<int>(std::int64_t{g.tiles[1] / ranks} * g.cells[1] / g.tiles[1]);
}

}  // namespace

Strip::Strip(const Geometry& whole, int rank, int ranks)
    : cells_{whole.cells[0], whole.cells[1]},
      tiles_{whole.tiles[0], whole.tiles[1]},
      rank_(rank),
      ranks_(ranks),
      margin_(margin_of(whole)) {
  if (fewest_rows(whole, ranks) < margin_) {
    int most = ranks - 1;
    while (most > 1 && fewest_rows(whole, most) < margin_) --most;
    throw std::invalid_argument(text_of(
        "the box is too small for ", ranks, " ranks: strips of whole tiles and at least ", margin_,
        " rows of cells, of ", cells_[1], " rows in ", tiles_[1], " rows of tiles, allow ", most));
  }
  const std::int64_t most_tiles = (tiles_[1] + ranks - 1) / ranks;
  most_rows_ = static_cast<int>((most_tiles * cells_[1] + tiles_[1] - 1) / tiles_[1]);
  place();
}

int Strip::cut(int tile_row) const {
  return static_cast<int>(std::int64_t{tile_row} * cells_[1] / tiles_[1]);
}

int Strip::edge(int rank) const {
  const int from_first = static_cast<int>(std::int64_t{rank % ranks_} * tiles_[1] / ranks_);
  return (first_tile_row_ + from_first) % tiles_[1];
}

// The shortest way around the box.
int Strip::centered(int rows) const {
  rows = (rows % cells_[1] + cells_[1]) % cells_[1];
  return 2 * rows > cells_[1] ? rows - cells_[1] : rows;
}

void Strip::place() {
  const int below = edge(rank_), above = edge(rank_ + 1);
  tile_rows_ = (above - below + tiles_[1] - 1) % tiles_[1] + 1;
  first_row_ = cut(below);
  rows_ = (cut(above) - first_row_ + cells_[1] - 1) % cells_[1] + 1;
}

Crossing Strip::advance(const Draw& d) {
  const int old_rows = rows_, lower = first_row_, upper = cut(edge(rank_ + 1));
  const int first = cut(edge(0));
  const auto way = [&](int tile_row, int from) {
    return centered(cut(tile_row) + d.shift_cells[1] - from);
  };
  // The tiles that lie nearest to where the first strip was; the other strips follow.
  int nearest = 0;
  for (int tile_row = 1; tile_row < tiles_[1]; ++tile_row)
    if (std::abs(way(tile_row, first)) < std::abs(way(nearest, first))) nearest = tile_row;
  first_tile_row_ = nearest;
  place();
  moved_ = way(edge(rank_), lower);
  const int moved_above = way(edge(rank_ + 1), upper);

  const auto positive = [](int n) { return n > 0 ? n : 0; };
  const Crossing c{positive(moved_ + 2), positive(-moved_above), positive(-moved_),
                   positive(moved_above + 2)};
  waiting_below_ = waiting_above_ = 0;
  for (int t = 0; t < tile_rows_; ++t) {
    const Part p = part(t);
    const TileBounds b = tile_bounds(p, p.first_tile);
    waiting_below_ += b.first[1] + moved_ < 0;
    waiting_above_ += b.first[1] + moved_ >= 0 && b.first[1] + moved_ + b.size[1] + 1 >= old_rows;
  }
  return c;
}

Geometry Strip::local(const Geometry& whole) const {
  Geometry g = whole;
  g.cells[1] = capacity();
  return g;
}

Draw Strip::local(Draw d) const {
  d.shift_cells[1] = margin_ + moved_;
  return d;
}

Part Strip::part(int tile_row) const {
  Part p;
  for (int a = 0; a < 2; ++a) {
    p.cells[a] = cells_[a];
    p.tiles[a] = tiles_[a];
  }
  p.first_tile = (edge(rank_) + tile_row) % tiles_[1] * tiles_[0];
  p.first_row = first_row_;
  return p;
}

std::vector<int> first_strips(const Geometry& whole, int ranks) {
  std::vector<int> rows;
  for (int rank = 0; rank < ranks; ++rank) rows.push_back(Strip(whole, rank, ranks).first_row());
  rows.push_back(whole.cells[1]);
  return rows;
}

}  // namespace manymove::hard_particles
