// SPDX-License-Identifier: BSD-3-Clause
// A system that is divided among ranks (section 6 of the paper; docs/theory/hard_disks.md, section
// 9; docs/theory/hard_spheres.md, section 10): each holds a strip of whole rows of tiles, along y
// in two dimensions, or a slab of whole layers of tiles, along z in three. The tiles' frozen
// borders keep the ranks apart during a cycle; at the shift of the grid the strips' edges move with
// it, by a tile at most, and the rows in between go to the neighbor.
//
// Disks of one size, mixtures and spheres share this: a row is what lies between two cuts, whatever
// is in it.
#pragma once

#include <vector>

namespace manymove::hard_particles {

// Rows of cells sent to the ranks below and above, and taken in from them.
struct HaloRows {
  int to_below, to_above, from_below, from_above;
};

// The rows of a whole grid; in three dimensions they are layers.
struct GridRows {
  int cells, tiles;  // rows of cells and of tiles
  int widest;        // tile, in cells
  bool layers = false;
};

// In local storage a strip lies between two margins for what comes from the neighbors; this is a
// grid of its own, of capacity() rows, whose upper and lower edges nothing crosses.
class Strip {
 public:
  // Throws std::invalid_argument if the box is too small for so many ranks, or ParameterError about
  // `tile` if narrower tiles allow them.
  Strip(const GridRows& whole, int rank, int ranks);

  int margin() const { return margin_; }
  int capacity() const { return most_rows_ + 2 * margin_; }
  // The strip in the whole grid.
  const GridRows& whole() const { return whole_; }
  int first_row() const { return first_row_; }
  int rows() const { return rows_; }
  int tile_rows() const { return tile_rows_; }
  // The row of tiles of the whole grid that is the strip's `i`-th.
  int tile_row(int i) const { return (edge(rank_) + i) % whole_.tiles; }

  // The strips of the grid that is shifted by `shift` rows of cells and less than another, and what
  // has to cross before the particles can land in them. `home`: the row of the present grid in
  // which the box begins, from which the strips stay as near as they can.
  HaloRows advance(int shift, int home);
  // After advance(): the shift in local storage, of the strip's first row there.
  int local_shift() const { return margin_ + moved_; }
  // And of the strip's rows of tiles, those at the lower and at the upper edge that wait for rows
  // from the neighbors.
  int waiting_below() const { return waiting_below_; }
  int waiting_above() const { return waiting_above_; }

 private:
  int cut(int tile_row) const;  // first row of a row of tiles
  int edge(int rank) const;     // first row of tiles of a rank's strip
  int centered(int rows) const;
  void place();

  GridRows whole_;
  int rank_, ranks_;
  int reach_ = 0;  // rows by which the edge of the first strip moves at most
  int margin_ = 0, most_rows_ = 0;
  int first_tile_row_ = 0;  // of rank 0's strip
  int first_row_ = 0, rows_ = 0, tile_rows_ = 0;
  int moved_ = 0;  // of the strip's lower edge in the last shift, rows of the old grid
  int waiting_below_ = 0, waiting_above_ = 0;
};

// The first row of each strip, and after the last the number of rows, before the first cycle.
std::vector<int> first_strips(const GridRows& whole, int ranks);

}  // namespace manymove::hard_particles
