// SPDX-License-Identifier: BSD-3-Clause
// The engine's chain of equal disks without some of its parts, for Table 1 of the paper. Without
// the shuffle of the particles the sampling is wrong (docs/theory/hard_disks.md, section 4), and
// therefore the engines have no such switches. The complete chain is bitwise identical to the
// trajectory of `HardDisks` (tests/hard_particles/test_ablation.py).
//
// The coordinates and the overlap test are the engine's (equal_disks.h). The schedule is the
// simplest one: one tile and one cell at a time, with the exact predicate for each trial move.
//
// table_1_engine.py compiles this file with the C++ compiler.
#include <cstdint>
#include <utility>
#include <vector>

#include "hard_particles/equal_disks.h"

namespace manymove::hard_particles::equal_disks {

struct Setup {
  std::int32_t shuffle_particles, shuffle_sets, shift_along_axis;
  std::int32_t cells[2], tile, moves_per_cell, rounds;
  std::int64_t half[2];  // H, units
  double diameter;       // units
  double step;           // maximum displacement in units / 16383.5
  std::uint64_t seed, first_cycle, cycles;
  std::uint64_t every, record;  // cycles between two samples, and in a row of the histogram
  double bin_width;             // in diameters
  std::int32_t bins;
};

namespace {

Geometry geometry_of(const Setup& s) {
  Geometry g{};
  for (int a = 0; a < 2; ++a) {
    g.cells[a] = s.cells[a];
    g.half[a] = static_cast<float>(s.half[a]);
  }
  g.step = static_cast<float>(s.step);
  g.diameter = s.diameter;
  g.contact = s.diameter * s.diameter;
  g.moves_per_cell = s.moves_per_cell;
  g.rounds = s.rounds;
  g.key = {static_cast<std::uint32_t>(s.seed), static_cast<std::uint32_t>(s.seed >> 32)};
  lay_out_tiles(g, s.tile);
  return g;
}

// The draw of a cycle. Without the shuffle of the sets their order is always 0, 1, 2, 3. The paper
// shifts the grid along one axis, forwards or backwards by less than half a cell; tiles may still
// begin in any cell.
Draw draw_of(const Setup& s, const Geometry& g, std::uint64_t cycle) {
  hard_particles::Geometry whole{};
  for (int a = 0; a < 2; ++a) {
    whole.cells[a] = g.cells[a];
    whole.half[a] = g.half[a];
  }
  whole.rounds = g.rounds;
  whole.key = g.key;
  Draw d = draw_cycle(whole, cycle);
  for (std::uint32_t& order : d.order)
    if (!s.shuffle_sets) order = 0xe4;
  if (s.shift_along_axis) {
    std::uint32_t word[4];
    random_words(word, g, 0u, cycle, Purpose::shift, 0, 1);
    const int a = static_cast<int>(word[2] & 1u);
    const std::uint64_t random = static_cast<std::uint64_t>(word[0]) << 32 | word[1];
    const auto steps = static_cast<std::uint64_t>(g.half[a] / 2);
    const float by = 2.0f * static_cast<float>(static_cast<std::uint64_t>(
                                static_cast<unsigned __int128>(random) * steps >> 64));
    d.shift_rest[1 - a] = 0;
    d.shift_rest[a] = word[2] & 2u || by == 0 ? by : 2.0f * g.half[a] - by;
  }
  return d;
}

// A visit of a cell with n disks (Algorithm 1, lines 5-14); returns the accepted moves.
int visit(const Setup& s, const Geometry& g, std::uint64_t cycle, int round, Position* slot, int n,
          int odd, std::uint32_t where) {
  std::uint32_t word[4];
  unsigned order = 0xe4;  // 3 2 1 0, two bits each
  if (n > 2 && s.shuffle_particles) {
    random_words(word, g, where, cycle, Purpose::shuffle, round, 0);
    order = permutation<2>(n, word);
  }
  int accepted = 0;
  for (int made = 0; made < g.moves_per_cell; ++made) {
    if (made % 4 == 0) random_words(word, g, where, cycle, Purpose::displacement, round, made / 4);
    if (made == 0 && n == 2 && s.shuffle_particles && first_of_pair(word[0])) order = 0x1;
    const int own = static_cast<int>(order >> (2 * (made % n)) & 3u);
    Position& p = slot[own * g.plane];
    const float x = p.x + displacement(word[made % 4], g.step),
                y = p.y + displacement(other_half(word[made % 4]), g.step);
    if (abs_of(x) < g.half[0] && abs_of(y) < g.half[1] &&
        exactly_free(slot, g.near[odd], g.plane, own, x, y, g.contact)) {
      p = {x, y};
      ++accepted;
    }
  }
  return accepted;
}

struct Disks {
  std::vector<Position> cells;    // [rows][columns][kSlots]
  std::vector<std::int32_t> ids;  // likewise
};

// A cycle of one tile: the disks of `from` land in the shifted grid and move, and the tile is
// written into `to`. Returns false if a cell overflows, which is impossible without overlaps.
bool run_tile(const Setup& s, const Geometry& g, const Draw& d, int tile_id, const Disks& from,
              Disks& to, std::uint64_t moves[2]) {
  const TileBounds b = tile_bounds<2>(g, tile_id);
  const auto slots = static_cast<std::size_t>(kSlots) * static_cast<std::size_t>(g.plane);
  std::vector<Position> tile(slots, Position{kEmpty, kEmpty});
  std::vector<std::int32_t> id(slots, -1);
  std::vector<int> order(slots), count(static_cast<std::size_t>(g.plane));
  for (int row = 0; row <= b.size[1] + 1; ++row)
    for (int column = 0; column <= b.size[0] + 1; ++column) {
      const OldCell old = old_cell(g, d, b, column, row);
      const std::size_t first =
          (static_cast<std::size_t>(old.row) * g.cells[0] + old.column) * kSlots;
      for (int slot = 0; slot < kSlots && from.ids[first + slot] >= 0; ++slot) {
        const Landing l = land(g, d, from.cells[first + slot], slot);
        const int c = column - l.before[0], r = row - l.before[1];
        if (c < 0 || c > b.size[0] || r < 0 || r > b.size[1]) continue;
        const int cell = local_index(g, c, r);
        int at = count[cell]++;
        if (at == kSlots) return false;
        for (; at > 0 && order[(at - 1) * g.plane + cell] > l.order; --at) {
          tile[at * g.plane + cell] = tile[(at - 1) * g.plane + cell];
          id[at * g.plane + cell] = id[(at - 1) * g.plane + cell];
          order[at * g.plane + cell] = order[(at - 1) * g.plane + cell];
        }
        tile[at * g.plane + cell] = l.p;
        id[at * g.plane + cell] = from.ids[first + slot];
        order[at * g.plane + cell] = l.order;
      }
    }
  for (int round = 0; round < g.rounds; ++round)
    for (int turn = 0; turn < 4; ++turn) {
      const int set = d.order[round] >> (2 * turn) & 3, odd = set & 1;
      for (int row = 1; row < b.size[1]; ++row)
        for (int column = 1; column < b.size[0]; ++column) {
          const int cell = local_index(g, column, row);
          if (((column & 1) | (row & 1) << 1) != set || count[cell] == 0) continue;
          const auto where = static_cast<std::uint32_t>(tile_id * g.plane + cell);
          moves[0] += static_cast<std::uint64_t>(g.moves_per_cell);
          moves[1] += static_cast<std::uint64_t>(
              visit(s, g, d.cycle, round, &tile[cell], count[cell], odd, where));
        }
    }
  for (int row = 0; row < b.size[1]; ++row)
    for (int column = 0; column < b.size[0]; ++column)
      for (int slot = 0; slot < kSlots; ++slot) {
        const std::size_t at =
            (static_cast<std::size_t>(b.first[1] + row) * g.cells[0] + b.first[0] + column) *
                kSlots +
            slot;
        const int there = slot * g.plane + local_index(g, column, row);
        to.cells[at] = tile[there];
        to.ids[at] = id[there];
      }
  return true;
}

void sample(const Setup& s, const Geometry& g, const Disks& disks, std::uint64_t* histogram) {
  const double farthest = g.diameter * (1 + s.bin_width * s.bins);
  Law law{};
  law.contact = g.contact;
  const ContactBins bins{1 / s.bin_width, s.bins, 2,
                         static_cast<float>(farthest * farthest * (1 + 1e-6))};
  // Each pair of disks once: with the later ones of the cell, and with those of half of the 5 by 5
  // cells around it.
  const auto first_of = [&](int column, int row) {
    const int x = (column + g.cells[0]) % g.cells[0], y = row % g.cells[1];
    return (static_cast<std::size_t>(y) * g.cells[0] + x) * kSlots;
  };
  const auto add_pairs = [&](int column, int row, int slot) {
    const Position p = disks.cells[first_of(column, row) + slot];
    for (int j = 0; j <= 2; ++j)
      for (int i = j == 0 ? 0 : -2; i <= 2; ++i) {
        const std::size_t other = first_of(column + i, row + j);
        for (int t = i == 0 && j == 0 ? slot + 1 : 0; t < kSlots && disks.ids[other + t] >= 0;
             ++t) {
          const Position q = disks.cells[other + t];
          const float dx = q.x - p.x + 2.0f * g.half[0] * static_cast<float>(i),
                      dy = q.y - p.y + 2.0f * g.half[1] * static_cast<float>(j);
          const int bin = contact_bin<Contact::one_size>(law, bins, 0, 0, dx, dy, 0);
          if (bin >= 0) ++histogram[bin];
        }
      }
  };
  for (int row = 0; row < g.cells[1]; ++row)
    for (int column = 0; column < g.cells[0]; ++column)
      for (int slot = 0; slot < kSlots && disks.ids[first_of(column, row) + slot] >= 0; ++slot)
        add_pairs(column, row, slot);
}

}  // namespace

// Runs cycles of the disks of a snapshot of `HardDisks`, whose cells, ids and origin are replaced.
// Adds the pairs near contact to histograms [cycles / record][bins], and to moves[0] and moves[1]
// the trial and the accepted moves. Returns nullptr or the text of an error.
extern "C" const char* ablation(const Setup* setup, float* cells, std::int32_t* ids,
                                std::int64_t* origin, std::uint64_t* histograms,
                                std::uint64_t* moves) {
  const Setup& s = *setup;
  const Geometry g = geometry_of(s);
  const std::size_t slots = static_cast<std::size_t>(g.cells[0]) * g.cells[1] * kSlots;
  auto* const first = reinterpret_cast<Position*>(cells);
  Disks now{{first, first + slots}, {ids, ids + slots}};
  Disks next = now;
  for (std::uint64_t done = 1; done <= s.cycles; ++done) {
    const Draw d = draw_of(s, g, s.first_cycle + done - 1);
    for (int tile = 0; tile < g.tiles[0] * g.tiles[1]; ++tile)
      if (!run_tile(s, g, d, tile, now, next, moves)) return "a cell has more than four disks";
    std::swap(now, next);
    for (int a = 0; a < 2; ++a) {
      const std::int64_t cell = 2 * s.half[a];
      origin[a] += cell * d.shift_cells[a] + static_cast<std::int64_t>(d.shift_rest[a]);
      origin[a] %= cell * g.cells[a];
    }
    if (s.every && done % s.every == 0)
      sample(s, g, now, histograms + (done - 1) / s.record * static_cast<std::uint64_t>(s.bins));
  }
  for (std::size_t at = 0; at < slots; ++at) {
    first[at] = now.cells[at];
    ids[at] = now.ids[at];
  }
  return nullptr;
}

}  // namespace manymove::hard_particles::equal_disks
