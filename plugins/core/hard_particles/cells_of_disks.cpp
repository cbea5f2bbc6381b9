// SPDX-License-Identifier: BSD-3-Clause
#include "cells_of_disks.h"

#include <cmath>

#include "../runtime/text.h"

namespace manymove::hard_particles {

using equal_disks::kEmpty;
using equal_disks::kSlots;

namespace {

// Largest error of the float32 estimate of a squared distance, in d^2 (docs/theory/hard_disks.md,
// section 1.3).
constexpr double kBoundError = 4e-6;

}  // namespace

Snapshot disks_of_cells(const State& s, const Cells& cells) {
  Snapshot data = s.data;
  data.equal_disks = true;
  const std::size_t slots = s.cells() * kSlots;
  data.cells.assign(2 * slots, kEmpty);
  data.ids.assign(slots, -1);
  for (std::size_t cell = 0; cell < s.cells(); ++cell)
    for (std::size_t at = cell * kSlots; at < cell * kSlots + cells.counts[cell]; ++at) {
      data.cells[2 * at] = cells.spheres[at].x;
      data.cells[2 * at + 1] = cells.spheres[at].y;
      data.ids[at] = static_cast<std::int32_t>(cells.spheres[at].id);
    }
  return data;
}

Cells cells_of_disks(const State& s, const Snapshot& data) {
  const Geometry& g = s.geometry;
  const std::size_t slots = s.cells() * kSlots;
  if (data.cells.size() != 2 * slots || data.ids.size() != slots)
    refuse("checkpoint has ", data.ids.size(), " slots, this grid has ", slots);
  Cells cells{std::vector<Sphere>(slots), std::vector<std::uint32_t>(slots / kSlots)};
  std::vector<bool> seen(s.particles);
  std::size_t found = 0;
  for (std::size_t at = 0; at < slots; ++at) {
    const std::int32_t id = data.ids[at];
    const float x = data.cells[2 * at], y = data.cells[2 * at + 1];
    if (id < 0) {
      if (x != kEmpty || y != kEmpty)
        refuse("checkpoint: slot ", at, " has a position but no disk");
      continue;
    }
    const auto disk = static_cast<std::uint32_t>(id);
    if (disk >= s.particles || seen[disk])
      refuse("checkpoint: disk ", id, " is unknown or there twice");
    // Odd numbers within the cell, as equal_disks.h has them.
    if (!(std::abs(x) < g.half[0]) || !(std::abs(y) < g.half[1]) ||
        std::fmod(std::abs(x), 2.0f) != 1.0f || std::fmod(std::abs(y), 2.0f) != 1.0f)
      refuse("checkpoint: disk ", id, " is not on the grid of its cell");
    // The disks of a cell fill its slots from the first one on.
    if (at % kSlots && data.ids[at - 1] < 0)
      refuse("checkpoint: disk ", id, " follows an empty slot");
    seen[disk] = true;
    ++found;
    cells.spheres[at] = {x, y, 0, disk};
    ++cells.counts[at / kSlots];
  }
  if (found != s.particles) refuse("checkpoint holds ", found, " disks, expected ", s.particles);
  return cells;
}

namespace equal_disks {

Geometry geometry_of(const State& s) {
  Geometry g{};
  for (int a = 0; a < 2; ++a) {
    g.cells[a] = s.geometry.cells[a];
    g.half[a] = s.geometry.half[a];
  }
  g.step = s.geometry.step;
  g.diameter = s.parameters.diameter / s.unit;
  g.contact = g.diameter * g.diameter;
  // The estimate is right beyond d^2 (1 +- error).
  g.surely_free = static_cast<float>(g.contact * (1 + kBoundError));
  g.surely_overlap = static_cast<float>(g.contact * (1 - kBoundError));
  g.moves_per_cell = s.geometry.moves_per_cell;
  g.rounds = s.geometry.rounds;
  g.key = s.geometry.key;
  lay_out_tiles(g, s.geometry.tile[0]);
  const hard_particles::Geometry local = s.local();
  g.cells[1] = local.cells[1];
  g.part = local.part;
  return g;
}

}  // namespace equal_disks
}  // namespace manymove::hard_particles
