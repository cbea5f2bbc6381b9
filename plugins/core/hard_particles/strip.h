// SPDX-License-Identifier: BSD-3-Clause
// A system that is divided among ranks (section 6 of the paper; docs/theory/hard_disks.md, section
// 9): each holds a strip of whole rows of tiles. The tiles' frozen borders keep the ranks apart
// during a cycle; at the shift of the grid the strips' edges move with it, by half a tile at most,
// and the rows in between go to the neighbor.
#pragma once

#include <vector>

#include "model.h"

namespace manymove::hard_particles {

// Rows of cells sent to the ranks below and above, and taken in from them.
struct Crossing {
  int to_below, to_above, from_below, from_above;
};

// In local storage a strip lies between two margins for what comes from the neighbors; this is a
// grid of its own, of capacity() rows, whose upper and lower edges nothing crosses.
class Strip {
 public:
  // Throws std::invalid_argument if the box is too small for so many ranks.
  Strip(const Geometry& whole, int rank, int ranks);

  int margin() const { return margin_; }
  int capacity() const { return most_rows_ + 2 * margin_; }
  // The strip in the whole grid.
  int first_row() const { return first_row_; }
  int rows() const { return rows_; }
  int tile_rows() const { return tile_rows_; }

  // The strips of the shifted grid, and what has to cross before the disks can land in them.
  Crossing advance(const Draw& d);
  // After advance(): of the strip's rows of tiles, those at the lower and at the upper edge that
  // wait for rows from the neighbors.
  int waiting_below() const { return waiting_below_; }
  int waiting_above() const { return waiting_above_; }
  // As the kernels need them: local storage, the draw, and the tiles from a row of the strip on.
  Geometry local(const Geometry& whole) const;
  Draw local(Draw d) const;
  Part part(int tile_row) const;

 private:
  int cut(int tile_row) const;  // first row of a row of tiles
  int edge(int rank) const;     // first row of tiles of a rank's strip
  int centered(int rows) const;
  void place();

  int cells_[2], tiles_[2];
  int rank_, ranks_;
  int margin_ = 0, most_rows_ = 0;
  int first_tile_row_ = 0;  // of rank 0's strip
  int first_row_ = 0, rows_ = 0, tile_rows_ = 0;
  int moved_ = 0;  // of the strip's lower edge in the last shift, rows of the old grid
  int waiting_below_ = 0, waiting_above_ = 0;
};

// The first row of each strip, and after the last the number of rows, before the first cycle.
std::vector<int> first_strips(const Geometry& whole, int ranks);

}  // namespace manymove::hard_particles
