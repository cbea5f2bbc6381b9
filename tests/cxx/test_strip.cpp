// SPDX-License-Identifier: BSD-3-Clause
// Hard disks divided among ranks: strips of whole rows of tiles.
#include "core/hard_particles/strip.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "core/hard_particles/state.h"
#include "support/test.h"

using namespace manymove;
using namespace manymove::hard_particles;

namespace {

State system_of(double width, double height, int tile, std::uint64_t seed) {
  Parameters parameters;
  parameters.dimensions = 2;
  parameters.box[0] = width;
  parameters.box[1] = height;
  parameters.tile.fill(tile);
  parameters.seed = seed;
  const double xy[2] = {0, 0};
  return make_state(xy, 1, parameters);
}

// Calls check(strips, geometry) for several boxes and numbers of ranks.
template <class Check>
void for_each_division(Check check) {
  const struct {
    double width, height;
    int tile;
  } boxes[] = {{20, 60, 6}, {30, 100, 8}, {12, 217, 9}, {40, 77.7, 12}};
  for (const auto& box : boxes) {
    const State s = system_of(box.width, box.height, box.tile, 11);
    for (const int ranks : {2, 3, 5}) {
      std::vector<Strip> strips;
      try {
        for (int r = 0; r < ranks; ++r) strips.emplace_back(rows_of(s), r, ranks);
      } catch (const std::invalid_argument&) {
        CHECK(ranks > 2);
        continue;
      }
      check(strips, s);
    }
  }
}

void check_tiling(const std::vector<Strip>& strips, const State& s) {
  const Geometry& g = s.geometry;
  int rows = 0, tile_rows = 0;
  for (std::size_t r = 0; r < strips.size(); ++r) {
    const Strip& above = strips[(r + 1) % strips.size()];
    CHECK_EQUAL((strips[r].first_row() + strips[r].rows()) % g.cells[1], above.first_row());
    CHECK(strips[r].rows() + 2 * strips[r].margin() <= strips[r].capacity());
    rows += strips[r].rows();
    tile_rows += strips[r].tile_rows();
  }
  CHECK_EQUAL(rows, g.cells[1]);
  CHECK_EQUAL(tile_rows, g.tiles[1]);
}

}  // namespace

TEST("the first strips are the rows of the grid, each once") {
  for_each_division([](const std::vector<Strip>& strips, const State& s) {
    check_tiling(strips, s);
    const auto first = first_strips(rows_of(s), static_cast<int>(strips.size()));
    for (std::size_t r = 0; r < strips.size(); ++r) CHECK_EQUAL(first[r], strips[r].first_row());
    CHECK_EQUAL(first[0], 0);
    CHECK_EQUAL(first.back(), s.geometry.cells[1]);
  });
}

TEST("over ten thousand cycles the strips tile the rows, and neighbors agree on what crosses") {
  for_each_division([](std::vector<Strip>& strips, const State& s) {
    const std::size_t ranks = strips.size();
    State grid = s;
    for (std::uint64_t cycle = 0; cycle < 10000; ++cycle) {
      const Draw draw = draw_cycle(s, cycle);
      std::vector<HaloRows> crossing;
      for (Strip& strip : strips)
        crossing.push_back(strip.advance(draw.shift_cells[1], row_of(grid, grid.data, 0)));
      move_origin(grid, draw);
      check_tiling(strips, s);
      for (std::size_t r = 0; r < ranks; ++r) {
        const HaloRows &here = crossing[r], &above = crossing[(r + 1) % ranks];
        CHECK_EQUAL(here.to_above, above.from_below);
        CHECK_EQUAL(here.from_above, above.to_below);
        for (const int rows : {here.to_below, here.to_above, here.from_below, here.from_above})
          CHECK(rows >= 0 && rows <= strips[r].margin());
        CHECK(strips[r].waiting_below() + strips[r].waiting_above() <= strips[r].tile_rows());
      }
    }
  });
}

TEST("over ten thousand cycles a tile's old rows are in the strip or in what crosses to it") {
  for_each_division([](std::vector<Strip>& strips, const State& s) {
    State grid = s;
    for (std::uint64_t cycle = 0; cycle < 10000; ++cycle) {
      const Draw draw = draw_cycle(s, cycle);
      const int home = row_of(grid, grid.data, 0);
      move_origin(grid, draw);
      for (Strip& strip : strips) {
        const int old_rows = strip.rows();
        const HaloRows crossing = strip.advance(draw.shift_cells[1], home);
        State part = s;
        part.strip = strip;
        const Draw local = local_draw(part, draw);
        const Geometry g = part.local();
        const int lowest = strip.margin() - crossing.from_below,
                  highest = strip.margin() + old_rows + crossing.from_above;
        int waiting_below = 0, waiting_above = 0;
        for (int t = 0; t < strip.tile_rows(); ++t) {
          const TileBounds b = tile_bounds<2>(g, tile_of<2>(g, t * g.tiles[0]));
          // land() reads from a tile's first row to two beyond its last own one.
          const int first = b.first[1] + local.shift_cells[1], last = first + b.size[1] + 1;
          CHECK(first >= lowest && last < highest);
          CHECK(first >= 0 && last < strip.capacity());
          const bool below = first < strip.margin();
          waiting_below += below;
          waiting_above += !below && last >= strip.margin() + old_rows;
        }
        CHECK_EQUAL(strip.waiting_below(), waiting_below);
        CHECK_EQUAL(strip.waiting_above(), waiting_above);
      }
    }
  });
}

TEST("strips stay within half a tile of equal parts of the box, where they are two tiles high") {
  for (const int ranks : {2, 3, 5}) {
    const State s = system_of(30, 240, 8, 5);
    const int cells = s.geometry.cells[1];
    std::vector<Strip> strips;
    for (int r = 0; r < ranks; ++r) strips.emplace_back(rows_of(s), r, ranks);
    State grid = s;
    bool apart = false;  // the edges are not always in the same place
    for (std::uint64_t cycle = 0; cycle < 10000; ++cycle) {
      const Draw draw = draw_cycle(s, cycle);
      for (Strip& strip : strips) strip.advance(draw.shift_cells[1], row_of(grid, grid.data, 0));
      move_origin(grid, draw);
      const int home = row_of(grid, grid.data, 0);
      for (int r = 0; r < ranks; ++r) {
        const double way =
            strips[static_cast<std::size_t>(r)].first_row() - home - r * cells / double(ranks);
        // Other strips than the first begin at a row of tiles below their equal part.
        const double off = way - cells * std::round(way / cells);
        CHECK(off <= 4 + 2 && off >= -4 - 2 - (r ? 8 : 0));
        apart |= off != 0;
      }
    }
    CHECK(apart);
  }
}

TEST("strips that are elsewhere come back to the box's lower edge") {
  const State s = system_of(30, 240, 8, 7);
  Strip strip(rows_of(s), 0, 3);
  State grid = s;
  grid.data.origin[1] = s.extent[1] / 2;  // of a snapshot that a run continues from
  int off = 0;
  for (std::uint64_t cycle = 0; cycle < 200; ++cycle) {
    const Draw draw = draw_cycle(s, cycle);
    strip.advance(draw.shift_cells[1], row_of(grid, grid.data, 0));
    move_origin(grid, draw);
    const int cells = s.geometry.cells[1], way = strip.first_row() - row_of(grid, grid.data, 0);
    off = (way % cells + cells) % cells;
    off = std::min(off, cells - off);
  }
  CHECK(off <= 4 + 2);
}

TEST("the tiles of a grid are its columns and rows, each once") {
  for (const int cells : {6, 7, 41, 1000, 65536})
    for (const int tiles : {1, 2, 3})
      for (const int axis : {0, 1}) {
        Geometry g{};
        for (int a = 0; a < 2; ++a) {
          g.cells[a] = a == axis ? cells : 5;
          g.tiles[a] = a == axis ? tiles : 1;
        }
        int next = 0;
        for (int tile = 0; tile < tiles; ++tile) {
          const TileBounds b = tile_bounds<2>(g, tile);
          CHECK_EQUAL(b.first[axis], next);
          CHECK(b.size[axis] >= cells / tiles && b.size[axis] <= cells / tiles + 1);
          next += b.size[axis];
        }
        CHECK_EQUAL(next, cells);
      }
}

TEST("a shift of the grid is an even number of units within the box") {
  const State s = system_of(20, 60, 6, 12);
  const Geometry& g = s.geometry;
  for (std::uint64_t cycle = 0; cycle < 10000; ++cycle) {
    const Draw draw = draw_cycle(s, cycle);
    for (int a = 0; a < 2; ++a) {
      CHECK(draw.shift_cells[a] >= 0 && draw.shift_cells[a] < g.cells[a]);
      CHECK(draw.shift_rest[a] >= 0 && draw.shift_rest[a] < 2 * g.half[a]);
      CHECK_EQUAL(std::fmod(draw.shift_rest[a], 2.0f), 0.0f);
    }
  }
}
