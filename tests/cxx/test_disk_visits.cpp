// SPDX-License-Identifier: BSD-3-Clause
// Visits by estimates (visit_disks.cuh), which a GPU makes, against the visits that the CPU makes.
#include <bit>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "core/hard_particles/cells_of_disks.h"
#include "core/hard_particles/cuda/visit_disks.cuh"
#include "support/test.h"

using namespace manymove;
using namespace manymove::hard_particles::equal_disks;
using hard_particles::kMaxRounds, hard_particles::make_state, hard_particles::Parameters,
    hard_particles::Purpose, hard_particles::random_words;

namespace {

struct Outcome {
  std::size_t same = 0, differ = 0, again = 0, pairs = 0, accepted = 0;
};

// Visits of a cell in the middle of random neighborhoods without overlaps, made both ways.
Outcome compare(double cell_width, double aspect_ratio, int moves) {
  Parameters parameters;
  parameters.dimensions = 2;
  parameters.box[0] = 30;
  parameters.box[1] = 30 * aspect_ratio;
  parameters.cell_width = cell_width;
  parameters.moves_per_cell = moves;
  parameters.seed = 99;
  const double middle[2] = {0, 0};
  const Geometry g = geometry_of(make_state(middle, 1, parameters));
  const Doubled s = doubled(g);
  const auto plane = static_cast<std::size_t>(g.plane);
  const std::int64_t half[2] = {static_cast<std::int64_t>(g.half[0]),
                                static_cast<std::int64_t>(g.half[1])};
  std::mt19937_64 random(5);
  Outcome outcome;
  for (int trial = 0; trial < 4000; ++trial) {
    const int odd = trial & 1, column = 4 + odd, row = 4, index = local_index(g, column, row);
    std::vector<Position> tile(kSlots * plane, Position{kEmpty, kEmpty});
    std::vector<std::uint32_t> count(plane, 0);
    std::vector<std::pair<double, double>> disks;
    for (int attempt = 0; attempt < 60; ++attempt) {
      std::int64_t cell[2], local[2];
      for (int a = 0; a < 2; ++a) {
        cell[a] = static_cast<std::int64_t>(random() % 3) - 1;
        local[a] = 2 * static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(half[a])) +
                   1 - half[a];
      }
      const auto x = static_cast<double>(local[0] + 2 * half[0] * cell[0]),
                 y = static_cast<double>(local[1] + 2 * half[1] * cell[1]);
      bool apart = true;
      for (const auto& [there_x, there_y] : disks)
        apart = apart && (x - there_x) * (x - there_x) + (y - there_y) * (y - there_y) >= g.contact;
      const auto at = static_cast<std::size_t>(
          local_index(g, column + static_cast<int>(cell[0]), row + static_cast<int>(cell[1])));
      if (!apart || count[at] == kSlots) continue;
      tile[count[at]++ * plane + at] = {static_cast<float>(local[0]), static_cast<float>(local[1])};
      disks.emplace_back(x, y);
    }
    const std::uint32_t entry = list_entry(g, count.data(), index, odd);
    const int disks_here = entry_count(entry);
    const std::uint32_t e = entry_extras(entry);
    const int extras = std::popcount(e & 0x5555u) + 2 * std::popcount(e & 0xaaaau);
    if (disks_here < 1 || disks_here > 2 || extras > kExtras) continue;

    std::vector<Position> expected = tile;
    const LocalCell here{tile.data() + index, g.near[odd], g.plane};
    const LocalCell there{expected.data() + index, g.near[odd], g.plane};
    CellVisit visit{entry, static_cast<std::uint32_t>(12345 + trial), {}, odd};
    Extras around{};
    find_extras<kExtras>(s, g.near[odd], g.plane, entry, around);
    constexpr std::uint64_t kCycle = 0x700000003;
    displacement_words(visit.word, s, visit.where, kCycle, 3, 0);
    float accepted = 0;
    bool done;
    if (disks_here == 1 && extras == 0 && trial % 3 == 0)
      done = visit_by_estimates<8, false>(g, s, kCycle, 3, here, visit, around, accepted);
    else if (disks_here == 1 && extras <= 1 && trial % 3 == 1)
      done = visit_by_estimates<9, false>(g, s, kCycle, 3, here, visit, around, accepted);
    else
      done = visit_by_estimates<8 + kExtras, true>(g, s, kCycle, 3, here, visit, around, accepted);
    const std::vector<Position> before = expected;
    const int moved = visit_any<12>(g, kCycle, 3, there, entry, odd, visit.where);
    if (!done) {
      ++outcome.again;
      expected = before;  // nothing has happened
    }
    bool same = static_cast<int>(accepted) == (done ? moved : 0);
    for (std::size_t i = 0; i < tile.size(); ++i)
      same = same && tile[i].x == expected[i].x && tile[i].y == expected[i].y;
    outcome.pairs += done && disks_here == 2;
    outcome.accepted += static_cast<std::size_t>(accepted);
    ++(same ? outcome.same : outcome.differ);
  }
  return outcome;
}

}  // namespace

TEST("default tiles are alike for all devices and fill 132 multiprocessors evenly") {
  const double middle[2] = {0, 0};
  const auto tile = [&](double columns, double rows) {
    Parameters parameters;
    parameters.dimensions = 2;
    parameters.box[0] = columns;
    parameters.box[1] = rows;
    const Geometry g = geometry_of(make_state(middle, 1, parameters));
    CHECK_EQUAL(g.cells[0], static_cast<int>(columns));
    return g.tile;
  };
  CHECK_EQUAL(tile(67, 67), 17);      // 16 tiles
  CHECK_EQUAL(tile(192, 192), 18);    // 121
  CHECK_EQUAL(tile(271, 271), 17);    // 256, two for most multiprocessors
  CHECK_EQUAL(tile(543, 543), 34);    // 256
  CHECK_EQUAL(tile(768, 768), 35);    // 484
  CHECK_EQUAL(tile(1086, 1086), 34);  // 1,024, eight for most
  CHECK_EQUAL(tile(1086, 272), 34);   // 256
}

TEST("the random words of a visit by estimates are those of other visits") {
  Parameters parameters;
  parameters.dimensions = 2;
  parameters.box[0] = parameters.box[1] = 30;
  parameters.seed = 0xfedcba9876543210;
  const double middle[2] = {0, 0};
  const Geometry g = geometry_of(make_state(middle, 1, parameters));
  const Doubled s = doubled(g);
  for (const std::uint64_t cycle : {0ull, 1ull, 0xffffffffull, 0x123456789abcull})
    for (int round = 0; round < kMaxRounds; round += 5)
      for (const std::uint32_t where : {0u, 77u, 0xffffffffu}) {
        std::uint32_t word[4], expected[4];
        displacement_words(word, s, where, cycle, round, round + 1);
        random_words(expected, g, where, cycle, Purpose::displacement, round, round + 1);
        for (int k = 0; k < 4; ++k) CHECK_EQUAL(word[k], expected[k]);
      }
}

TEST("a visit by estimates does what a visit with the exact predicate does") {
  struct Case {
    double cell_width, aspect_ratio;
    int moves;
  };
  for (const Case& c : {Case{1, 1, 4}, {1, 0.93, 8}, {1.2, 1, 4}, {1.41, 0.97, 12}}) {
    const Outcome outcome = compare(c.cell_width, c.aspect_ratio, c.moves);
    CHECK_EQUAL(outcome.differ, 0u);
    CHECK(outcome.again * 100 < outcome.same);
    CHECK(outcome.same > 1000);
    CHECK(outcome.pairs > 10);
    CHECK(outcome.accepted > 1000);
  }
}

TEST("a visit by estimates whose moves are too short for estimates does nothing") {
  // A disk that starts within the error of the estimate from another stays there.
  Parameters parameters;
  parameters.dimensions = 2;
  parameters.box[0] = parameters.box[1] = 30;
  parameters.max_displacement = 1e-7;
  const double middle[2] = {0, 0};
  const Geometry g = geometry_of(make_state(middle, 1, parameters));
  const Doubled s = doubled(g);
  const auto plane = static_cast<std::size_t>(g.plane);
  const int index = local_index(g, 4, 4);
  std::vector<Position> tile(kSlots * plane, Position{kEmpty, kEmpty});
  std::vector<std::uint32_t> count(plane, 0);
  const float x = 1 - g.half[0];  // the disk on the right is a diameter away, and a few units
  const auto right = static_cast<std::size_t>(local_index(g, 5, 4));
  tile[static_cast<std::size_t>(index)] = {x, 1};
  const double away = g.diameter - 2 * static_cast<double>(g.half[0]) + 4;
  tile[right] = {x + 2 * static_cast<float>(static_cast<std::int64_t>(away / 2)), 1};
  count[static_cast<std::size_t>(index)] = count[right] = 1;
  const std::vector<Position> before = tile;
  CellVisit visit{list_entry(g, count.data(), index, 0), 7, {}, 0};
  displacement_words(visit.word, s, visit.where, 1, 0, 0);
  float accepted = 0;
  const LocalCell here{tile.data() + index, g.near[0], g.plane};
  CHECK((!visit_by_estimates<8, false>(g, s, 1, 0, here, visit, {}, accepted)));
  CHECK_EQUAL(accepted, 0.0f);
  for (std::size_t i = 0; i < tile.size(); ++i)
    CHECK(tile[i].x == before[i].x && tile[i].y == before[i].y);
}
