// SPDX-License-Identifier: BSD-3-Clause
// The cells as a GPU stores them (planes.h) against those of the host.
#include <array>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "core/hard_particles/planes.h"
#include "support/test.h"

using namespace manymove::hard_particles::equal_disks;
using manymove::hard_particles::Cells, manymove::hard_particles::Sphere;

namespace {

// Rows of cells with none to four disks each, at any odd integers that a cell can have.
struct Rows {
  static constexpr int kColumns = 7, kRows = 5;
  Geometry geometry{};
  Cells data;
  std::vector<Position> cells;
  std::vector<std::int32_t> ids;

  Rows() {
    geometry.cells[0] = kColumns;
    geometry.cells[1] = kRows;
    geometry.half[0] = geometry.half[1] = 2097152;  // the largest
    const std::size_t slots = std::size_t{kColumns} * kRows * kSlots;
    data.spheres.resize(slots);
    data.counts.resize(slots / kSlots);
    std::mt19937_64 random(3);
    std::uint32_t id = 1999999999;
    const auto coordinate = [&] {
      constexpr std::array<float, 4> kExtremes = {-2097151, -1, 1, 2097151};
      const std::uint64_t draw = random();
      if (draw % 2) return kExtremes[draw / 2 % 4];
      return static_cast<float>(2 * static_cast<std::int64_t>(draw / 2 % 2097152) - 2097151);
    };
    for (std::size_t cell = 0; cell < slots / kSlots; ++cell) {
      data.counts[cell] = static_cast<std::uint32_t>(cell % (kSlots + 1));
      for (std::size_t at = kSlots * cell; at < kSlots * cell + data.counts[cell]; ++at) {
        const float x = coordinate(), y = coordinate();
        data.spheres[at] = {x, y, 0, id--};
      }
    }
    cells.resize(slots);
    ids.resize(slots);
    to_planes(kColumns, data, cells, ids);
    // Slots beyond the disks of a cell hold anything.
    for (std::size_t at = 0; at < slots; ++at) {
      const std::size_t slot = at / kColumns % kSlots;
      const Position first = cells[at - slot * kColumns];
      if (static_cast<int>(slot) < disks_of(first) || slot == 0) continue;
      cells[at] = {3, 5};
      ids[at] = 17;
    }
  }
};

}  // namespace

TEST("cells of a GPU come back as they were, whatever is in slots without a disk") {
  const Rows rows;
  const Cells back = from_planes(Rows::kColumns, rows.cells, rows.ids);
  CHECK(back.counts == rows.data.counts);
  for (std::size_t at = 0; at < rows.cells.size(); ++at) {
    if (at % kSlots >= back.counts[at / kSlots]) continue;
    const Sphere &p = back.spheres[at], &q = rows.data.spheres[at];
    CHECK(p.x == q.x && p.y == q.y && p.z == q.z && p.id == q.id);
  }
}

TEST(
    "the first slot of a cell has its place and its disks, and the others follow in their planes") {
  const Rows rows;
  for (int row = 0; row < Rows::kRows; ++row)
    for (int column = 0; column < Rows::kColumns; ++column) {
      const int cell = row * Rows::kColumns + column, disks = cell % (kSlots + 1);
      const std::uint32_t at = first_slot(Rows::kColumns, column, row);
      CHECK_EQUAL(disks_of(rows.cells[at]), disks);
      for (int slot = 0; slot < disks; ++slot) {
        const Position p = rows.cells[at + static_cast<std::uint32_t>(slot * Rows::kColumns)];
        const Sphere q = rows.data.spheres[static_cast<std::size_t>(cell * kSlots + slot)];
        CHECK_EQUAL((slot ? p : without_others(p)).x, q.x);
        CHECK_EQUAL(p.y, q.y);
      }
    }
  CHECK_EQUAL(first_slot(30000, 29999, 29999) + 3u * 30000u, 3599999999u);
}

TEST("observables see the same disks and pairs in both layouts") {
  const Rows rows;
  const Planes planes{rows.cells.data()};
  manymove::hard_particles::Geometry whole{};
  for (int a = 0; a < 2; ++a) {
    whole.cells[a] = rows.geometry.cells[a];
    whole.half[a] = rows.geometry.half[a];
  }
  whole.slots = kSlots;
  std::size_t all = 0, half = 0;
  for (int row = 0; row < Rows::kRows; ++row)
    for (int column = 0; column < Rows::kColumns; ++column) {
      const int index = row * Rows::kColumns + column, cell[3] = {column, row, 0};
      const int disks = static_cast<int>(rows.data.counts[static_cast<std::size_t>(index)]);
      const Sphere* const own = &rows.data.spheres[static_cast<std::size_t>(index) * kSlots];
      Position slots[kSlots];
      load_cell(rows.geometry, planes, column, row, slots);
      for (int slot = 0; slot < kSlots; ++slot)
        CHECK(slot < disks ? slots[slot].x == own[slot].x && slots[slot].y == own[slot].y
                           : slots[slot].x == kEmpty && slots[slot].y == kEmpty);
      for (int slot = 0; slot < disks; ++slot) {
        std::vector<std::pair<float, float>> one, other;
        for_particles_around<2, 1, 1>(
            whole, rows.data.spheres.data(), rows.data.counts.data(), cell, 2, 0, 0,
            [&](const Sphere& q, const float away[3], int around, int t) {
              if (around != 12 || t != slot)
                one.emplace_back(q.x - own[slot].x + away[0], q.y - own[slot].y + away[1]);
            });
        for_pairs<false>(rows.geometry, planes, column, row, slot,
                         [&](float x, float y) { other.emplace_back(x, y); });
        CHECK(one == other && !one.empty());
        all += one.size();
        for_pairs<true>(rows.geometry, planes, column, row, slot, [&](float, float) { ++half; });
      }
    }
  CHECK_EQUAL(2 * half, all);  // each pair once
}
