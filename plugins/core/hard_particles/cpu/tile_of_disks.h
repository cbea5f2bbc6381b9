// SPDX-License-Identifier: BSD-3-Clause
// The policy `EqualDisks` on a core: a tile's cycle, with kLanes cells of a set side by side in
// SIMD registers. Compiled once per SIMD level, by kernels.cpp; nothing here may instantiate what
// other sources also instantiate.
#pragma once

#include "kernels.h"

namespace manymove::hard_particles::equal_disks::MANYMOVE_SIMD {
namespace {

constexpr int kMostExtras = 8 * (kSlots - 1);

// Does what visit_any() does, for up to kLanes cells with one disk each.
int visit_lanes(const Geometry& g, std::uint64_t cycle, int round, Position* tile,
                const std::uint32_t* entry, int cells, int odd, std::uint32_t where) {
  const auto* flat = reinterpret_cast<const float*>(tile);
  IntLanes index;
  for (int lane = 0; lane < kLanes; ++lane)
    index[lane] = entry_index(entry[lane < cells ? lane : cells - 1]);
  // Slot 0 of a cell is at floats 2 index and 2 index + 1.
  const IntLanes at = index * 2;
  FloatLanes x = gather(flat, at), y = gather(flat, at + 1);

  // The disks that can be met, r_j from the cell's center, and |r_j|^2.
  Surroundings<FloatLanes, 8 + kMostExtras> around;
  MM_UNROLL
  for (int k = 0; k < 8; ++k) {
    const IntLanes there = at + 2 * g.near[odd][k].offset;
    around.set(k, gather(flat, there) + g.near[odd][k].x,
               gather(flat, there + 1) + g.near[odd][k].y);
  }
  int used = 0;
  float extra_x[kMostExtras][kLanes], extra_y[kMostExtras][kLanes];
  for (int lane = 0; lane < cells; ++lane) {
    int e = 0;
    for (std::uint32_t left = entry_extras(entry[lane]); left; ++e) {
      if (e == used) {
        // Lanes without an e-th extra have one that is too far for any disk.
        for (int l = 0; l < kLanes; ++l) extra_x[e][l] = extra_y[e][l] = kEmpty;
        ++used;
      }
      const Position p = next_extra({tile + entry_index(entry[lane]), g.near[odd], g.plane}, left);
      extra_x[e][lane] = p.x;
      extra_y[e][lane] = p.y;
    }
  }
  for (int e = 0; e < used; ++e) {
    FloatLanes ex, ey;
    __builtin_memcpy(&ex, extra_x[e], sizeof ex);
    __builtin_memcpy(&ey, extra_y[e], sizeof ey);
    around.set(8 + e, ex, ey);
  }

  // Lanes beyond `cells` repeat the last cell; their moves do not count.
  const std::uint32_t real = cells == 32 ? ~0u : (1u << cells) - 1;
  int accepted = 0;
  for (int call = 0; call * 4 < g.moves_per_cell; ++call) {
    // The words of each lane are those of its cell, whichever cells are its neighbors in a vector.
    UintLanes word[4];
    random_words(word, g, reinterpret_cast<UintLanes>(index) + where, cycle, Purpose::displacement,
                 round, call);
    const int moves = g.moves_per_cell - call * 4 < 4 ? g.moves_per_cell - call * 4 : 4;
    for (int m = 0; m < moves; ++m) {
      const FloatLanes new_x = x + displacement(word[m], g.step);
      const FloatLanes new_y = y + displacement(other_half(word[m]), g.step);
      // Line 9 of Algorithm 1, as in visit_any(): min_j |r_j - r'|^2 against d^2, then the cell.
      const FloatLanes closest = nearest(around, new_x, new_y, 8 + used);
      const IntLanes inside = (abs_of(new_x) < g.half[0]) & (abs_of(new_y) < g.half[1]);
      IntLanes accept = inside & (closest > g.surely_free);
      // Lanes whose estimate is within its error of d^2, about one of a million.
      const IntLanes unsure = inside & ~accept & (closest >= g.surely_overlap);
      for (std::uint32_t left = lane_bits(unsure) & real; left; left &= left - 1) {
        const int lane = __builtin_ctz(left);
        if (exactly_free(tile + index[lane], g.near[odd], g.plane, 0, new_x[lane], new_y[lane],
                         g.contact))
          accept[lane] = -1;
      }
      x = select(accept, new_x, x);
      y = select(accept, new_y, y);
      accepted += __builtin_popcount(lane_bits(accept) & real);
    }
  }
  for (int lane = 0; lane < cells; ++lane) tile[index[lane]] = {x[lane], y[lane]};
  return accepted;
}

void run_tile(const Geometry& g, const Draw& d, int tile_id, const TileBounds& bounds,
              const CycleArrays& b, const Workspace& w, MoveCounts& counts) {
  const int columns = bounds.size[0], rows = bounds.size[1];
  // Random numbers are functions of a cell's number among those of all tiles.
  const auto where = static_cast<std::uint32_t>(tile_id) * static_cast<std::uint32_t>(g.plane);
  const auto new_cell = [&](int column, int row) {
    return static_cast<std::int64_t>(bounds.first[1] + row) * g.cells[0] + bounds.first[0] + column;
  };

  for (int row = 0; row <= rows; ++row)
    for (int column = 0; column <= columns; ++column) {
      const int index = local_index(g, column, row);
      w.count[index] = 0;
      for (int s = 0; s < kSlots; ++s) w.tile[s * g.plane + index] = {kEmpty, kEmpty};
    }
  // Disks of the old cell (i, j) land in the cells i or i - 1, j or j - 1 of the tile.
  for (int row = 0; row <= rows + 1; ++row)
    for (int column = 0; column <= columns + 1; ++column) {
      const OldCell old = old_cell(g, d, bounds, column, row);
      const std::int64_t from = static_cast<std::int64_t>(old.row) * g.cells[0] + old.column;
      for (int slot = 0; slot < static_cast<int>(b.old_counts[from]); ++slot) {
        const Sphere& disk = b.old_spheres[from * kSlots + slot];
        const Landing l = land(g, d, {disk.x, disk.y}, slot);
        const int c = column - l.before[0], r = row - l.before[1];
        if (c < 0 || c > columns || r < 0 || r > rows) continue;
        const int index = local_index(g, c, r);
        auto at = static_cast<int>(w.count[index]);
        if (at == kSlots) {
          counts.corrupt = true;
          continue;
        }
        ++w.count[index];
        Sphere* own = c < columns && r < rows ? b.new_spheres + new_cell(c, r) * kSlots : nullptr;
        // Insertion by Landing::order, so that a cell's disks are sorted when all have landed.
        for (; at > 0 && w.order[(at - 1) * g.plane + index] > l.order; --at) {
          w.order[at * g.plane + index] = w.order[(at - 1) * g.plane + index];
          w.tile[at * g.plane + index] = w.tile[(at - 1) * g.plane + index];
          if (own) own[at].id = own[at - 1].id;
        }
        w.order[at * g.plane + index] = static_cast<std::uint8_t>(l.order);
        w.tile[at * g.plane + index] = l.p;
        if (own) own[at].id = disk.id;
      }
    }

  // Cells of one disk are visited kLanes at a time, the others by themselves. Their order in the
  // list does not matter, because the random numbers belong to the cell.
  int alone[4] = {}, crowded[4] = {};
  for (int row = 1; row < rows; ++row)
    for (int column = 1; column < columns; ++column) {
      const int index = local_index(g, column, row), set = (column & 1) | (row & 1) << 1;
      if (w.count[index] == 0) continue;
      const std::uint32_t entry = list_entry(g, w.count, index, column & 1);
      if (w.count[index] == 1)
        // Single disks from the front of the set's part, the others from its back.
        w.list[set * g.plane + alone[set]++] = entry;
      else
        w.list[(set + 1) * g.plane - ++crowded[set]] = entry;
    }

  for (int round = 0; round < g.rounds; ++round)
    for (int turn = 0; turn < 4; ++turn) {
      // The order of the four sets in a round, two bits each.
      const int set = d.order[round] >> (2 * turn) & 3, odd = set & 1;
      const std::uint32_t* list = w.list + set * g.plane;
      for (int i = 0; i < alone[set]; i += kLanes)
        counts.accepted_moves += static_cast<std::uint64_t>(
            visit_lanes(g, d.cycle, round, w.tile, list + i,
                        alone[set] - i < kLanes ? alone[set] - i : kLanes, odd, where));
      for (int i = 1; i <= crowded[set]; ++i) {
        const std::uint32_t entry = list[g.plane - i];
        counts.accepted_moves += static_cast<std::uint64_t>(
            visit_any<16>(g, d.cycle, round, {w.tile + entry_index(entry), g.near[odd], g.plane},
                          entry, odd, where + static_cast<std::uint32_t>(entry_index(entry))));
      }
      counts.trial_moves += static_cast<std::uint64_t>(alone[set] + crowded[set]) *
                            static_cast<std::uint64_t>(g.moves_per_cell);
    }

  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column) {
      const int index = local_index(g, column, row);
      const std::int64_t to = new_cell(column, row);
      b.new_counts[to] = w.count[index];
      for (std::uint32_t s = 0; s < w.count[index]; ++s) {
        const Position p = w.tile[static_cast<int>(s) * g.plane + index];
        Sphere& disk = b.new_spheres[to * kSlots + s];
        // The ID is there since the disk has landed.
        disk = {p.x, p.y, 0, disk.id};
      }
    }
}

}  // namespace

}  // namespace manymove::hard_particles::equal_disks::MANYMOVE_SIMD
