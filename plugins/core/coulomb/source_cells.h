// SPDX-License-Identifier: BSD-3-Clause
// Cells of the system for the sums at short range of the method "tree": which of them can hold
// sources within reach of a place.
#pragma once

#include <concepts>

#include "model.h"

namespace manymove::coulomb {

struct SourceCells {
  int cells[3];
  double edge[3], per_edge[3];  // of a cell, and cells in one unit of length
  double half[3];               // half the edge of the system
  bool periodic;

  // Cells whose edges are `least` or somewhat more, or one cell in a narrower system.
  SourceCells(const Rules& r, double least) : periodic(r.periodic) {
    for (int a = 0; a < 3; ++a) {
      const double extent = r.extent[a];
      const int most = static_cast<int>(extent / least);
      cells[a] = most > 1 ? most : 1;
      edge[a] = extent / cells[a];
      per_edge[a] = cells[a] / extent;
      half[a] = extent / 2;
    }
  }

  std::size_t count() const { return static_cast<std::size_t>(cells[0]) * cells[1] * cells[2]; }
  // In numbers of cells from the lower face of the system.
  MM_HD double place(int axis, double x) const { return (x + half[axis]) * per_edge[axis]; }
  MM_HD int along(int axis, double x) const {
    const int cell = static_cast<int>(place(axis, x));
    return cell < 0 ? 0 : cell >= cells[axis] ? cells[axis] - 1 : cell;
  }
  MM_HD int wrapped(int axis, int cell) const {
    return cell < 0 ? cell + cells[axis] : cell >= cells[axis] ? cell - cells[axis] : cell;
  }
  // The first cell of a row along x.
  MM_HD std::size_t row(int y, int z) const {
    return (static_cast<std::size_t>(z) * cells[1] + y) * cells[0];
  }
  MM_HD std::size_t at(const Site& s) const {
    return row(along(1, s.y), along(2, s.z)) + along(0, s.x);
  }
};

// Rows of cells along x within reach of a place.
class RowsNearby {
 public:
  MM_HD RowsNearby(const SourceCells& s, const Site& at, double reach)
      : s_(s),
        reach_(reach),
        place_{s.place(0, at.x), s.place(1, at.y), s.place(2, at.z)},
        rows_(span(1, reach)),
        planes_(span(2, reach)) {}

  MM_HD int count() const { return rows_.count * planes_.count; }
  // Calls task(piece, first, end) with the cells of a row that may be within reach: in one piece,
  // or in two where they leave the box on one side and come in on the other.
  template <std::invocable<int, std::size_t, std::size_t> Task>
  MM_HD void for_pieces(int row, const Task& task) const {
    const int y = rows_.first + row % rows_.count, z = planes_.first + row / rows_.count;
    const double dy = apart(1, y, rows_), dz = apart(2, z, planes_);
    // What the row's distance along y and z leaves of the reach along x.
    const double left = reach_ * reach_ - dy * dy - dz * dz;
    if (left <= 0) return;
    const Span along_x = span(0, square_root(left));
    const std::size_t start = s_.row(s_.wrapped(1, y), s_.wrapped(2, z));
    int next = along_x.first, rest = along_x.count;
    MM_UNROLL
    for (int piece = 0; piece < 2; ++piece) {
      if (rest <= 0) continue;
      const int low = s_.wrapped(0, next), room = s_.cells[0] - low,
                cells = rest < room ? rest : room;
      task(piece, start + low, start + low + cells);
      next += cells;
      rest -= cells;
    }
  }

 private:
  struct Span {
    int first, count;
  };
  // Cells along an axis within a distance: in a box not yet wrapped, and at most all of them.
  MM_HD Span span(int axis, double distance) const {
    // All cells that the interval [x - distance, x + distance] touches.
    const double far = distance * s_.per_edge[axis];
    int low = static_cast<int>(__builtin_floor(place_[axis] - far)),
        high = static_cast<int>(__builtin_floor(place_[axis] + far));
    if (!s_.periodic) {
      low = low > 0 ? low : 0;
      high = high < s_.cells[axis] ? high : s_.cells[axis] - 1;
    } else if (high - low + 1 >= s_.cells[axis]) {
      low = 0;
      high = s_.cells[axis] - 1;
    }
    return {low, high - low + 1};
  }
  // The distance along an axis from the place to a cell of a span, 0 inside.
  MM_HD double apart(int axis, int cell, const Span& span) const {
    if (s_.periodic && span.count == s_.cells[axis]) return 0;
    const double below = cell - place_[axis], above = place_[axis] - cell - 1;
    const double beyond = below > above ? below : above;
    return beyond > 0 ? beyond * s_.edge[axis] : 0;
  }

  const SourceCells& s_;
  double reach_, place_[3];
  Span rows_, planes_;
};

}  // namespace manymove::coulomb
