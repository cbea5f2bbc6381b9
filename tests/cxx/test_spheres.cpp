// SPDX-License-Identifier: BSD-3-Clause
// The model of hard spheres and mixtures: bounds on the particles of a cell, the exact predicate,
// displacements, integers of boxes, and the geometry of tiles, on which detailed balance rests.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include "core/hard_particles/cuda/order.h"
#include "core/hard_particles/state.h"
#include "support/test.h"

using namespace manymove::hard_particles;

namespace {

// How many particles a cell of this width has room for, in smallest contact distances.
double most(double width, int dimensions) {
  Distances d;
  d.largest = std::max(1.0, width);
  d.smallest = 1;
  d.of_types = {1};
  const double edges[3] = {width, width, width};
  return most_in_cell(d, edges, dimensions);
}

// The most points of a lattice that a box of this width holds, over many offsets.
std::size_t points_of_lattice(const double (&basis)[3][3], double width, int dimensions) {
  std::mt19937 random(7);
  std::size_t best = 0;
  const int reach = static_cast<int>(3 * width) + 3;
  for (int offset = 0; offset < 40; ++offset) {
    double shift[3];
    for (double& x : shift) x = offset == 0 ? 1e-9 : static_cast<double>(random()) * 0x1p-32;
    std::size_t inside = 0;
    for (int k = dimensions == 3 ? -reach : 0; k <= (dimensions == 3 ? reach : 0); ++k)
      for (int j = -reach; j <= reach; ++j)
        for (int i = -reach; i <= reach; ++i) {
          bool in = true;
          for (int a = 0; a < dimensions; ++a) {
            const double x = i * basis[0][a] + j * basis[1][a] + k * basis[2][a] + shift[a];
            in = in && x > 0 && x < width;
          }
          inside += in;
        }
    best = std::max(best, inside);
  }
  return best;
}

Parameters box_of(double x, double y, double z = 0) {
  Parameters p;
  p.dimensions = z == 0 ? 2 : 3;
  p.box[0] = x;
  p.box[1] = y;
  p.box[2] = z;
  p.seed = 1;
  return p;
}

// With a table, because a lone disk without one is moved by the policy of equal disks.
State lone_particle(Parameters p) {
  const double origin[3] = {0, 0, 0};
  if (p.dimensions == 2) {
    p.types = {0};
    p.contacts = {p.diameter};
  }
  return make_state(origin, 1, p);
}

}  // namespace

// ---- how many particles a cell holds ----

TEST("four disks fit a square below sqrt(2) diameters, and five a wider one") {
  CHECK_EQUAL(most(1.0, 2), 4.0);
  CHECK_EQUAL(most(std::sqrt(2.0) * (1 - 2e-5), 2), 4.0);
  // The corners and the center of a square of edge sqrt(2) are at least one apart.
  CHECK(most(std::sqrt(2.0), 2) >= 5);
}

TEST("eight spheres fit a cube below 2 / sqrt(3) diameters, nine one below 4 / 3") {
  CHECK_EQUAL(most(1.0, 3), 8.0);
  CHECK_EQUAL(most(2 / std::sqrt(3.0) * (1 - 2e-5), 3), 8.0);
  // The corners and the center of a cube of edge 2 / sqrt(3) are at least one apart.
  CHECK_EQUAL(most(2 / std::sqrt(3.0), 3), 9.0);
  CHECK_EQUAL(most(4.0 / 3 * (1 - 2e-5), 3), 9.0);
  CHECK(most(4.0 / 3, 3) >= 10);
}

TEST("no piece of a dense lattice has more points than the bound allows") {
  const double h = std::sqrt(0.5), root3 = std::sqrt(3.0);
  const double square[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  const double fcc[3][3] = {{h, h, 0}, {h, 0, h}, {0, h, h}};
  const double layers[3][3] = {
      {1, 0, 0}, {0.5, root3 / 2, 0}, {0.5, root3 / 6, std::sqrt(2.0 / 3)}};
  const double bcc[3][3] = {{1 / root3, 1 / root3, -1 / root3},
                            {1 / root3, -1 / root3, 1 / root3},
                            {-1 / root3, 1 / root3, 1 / root3}};
  for (const double width : {1.0001, 1.2, 1.3334, 1.5, 2.0001, 2.3, 3.0001, 4.5}) {
    std::size_t densest = 0;
    for (const auto* basis : {&square, &fcc, &layers, &bcc}) {
      const std::size_t n = points_of_lattice(*basis, width, 3);
      CHECK(static_cast<double>(n) <= most(width, 3));
      densest = std::max(densest, n);
    }
    CHECK(static_cast<double>(densest) > 0.4 * most(width, 3));  // the bound is not idle
    for (const auto* basis : {&square, &layers})
      CHECK(static_cast<double>(points_of_lattice(*basis, width, 2)) <= most(width, 2));
  }
}

TEST("types that hardly repel each other are bounded type by type") {
  Distances d;
  d.contact = Contact::table;
  d.largest = 1;
  d.smallest = 0.1;  // of unlike particles
  d.of_types = {1, 1};
  const double edges[3] = {1.01, 1.01, 1.01};
  const double bound = most_in_cell(d, edges, 3);
  CHECK(bound >= 16);  // eight of each type, at the corners
  CHECK(bound < 30);   // and not what the smallest distance would allow, 1933
}

// ---- the exact predicate ----

TEST("particles that just touch are free, and overlap one unit nearer") {
  const std::int64_t k =
      242858;  // 2 k, 3 k, 6 k are even, and (2 k)^2 + (3 k)^2 + (6 k)^2 = (7 k)^2
  const auto x = static_cast<float>(2 * k), y = static_cast<float>(3 * k),
             z = static_cast<float>(6 * k);
  const double sigma = static_cast<double>(7 * k), a = 1973788, b = 2 * sigma - a;
  const double diameters[2] = {a, b};
  Label labels[2] = {};
  labels[0].type = 0;
  labels[1].type = 1;
  const double table[4] = {a * a, sigma * sigma, sigma * sigma, b * b};
  Law law{};
  law.contact = sigma * sigma;
  law.diameters = diameters;
  law.labels = labels;
  law.types = 2;
  law.contacts = table;
  const auto check = [&](auto is_apart) {
    for (const int sign : {1, -1})
      for (const std::uint32_t i : {0u, 1u}) {
        const float s = static_cast<float>(sign);
        CHECK(is_apart(i, 1 - i, s * x, s * y, s * z));
        CHECK(is_apart(i, 1 - i, s * (x + 2), s * y, s * z));
        CHECK(!is_apart(i, 1 - i, s * (x - 2), s * y, s * z));
        CHECK(!is_apart(i, 1 - i, s * x, s * (y - 2), s * z));
        CHECK(!is_apart(i, 1 - i, s * x, s * y, s * (z - 2)));
      }
  };
  check([&](auto... p) { return apart<Contact::one_size>(law, p...); });
  check([&](auto... p) { return apart<Contact::additive>(law, p...); });
  check([&](auto... p) { return apart<Contact::table>(law, p...); });
  // Like particles of the mixtures have contact distances of their own.
  CHECK(!apart<Contact::additive>(law, 0, 0, x, y, z));
  CHECK(apart<Contact::additive>(law, 1, 1, x, y, z));
  CHECK(!apart<Contact::table>(law, 0, 0, x, y, z));
  CHECK(apart<Contact::table>(law, 1, 1, x, y, z));
}

TEST("every pair of types has a histogram of its own, whatever the order of the pair") {
  for (const int types : {1, 2, 3, 64}) {
    std::vector<Label> labels(static_cast<std::size_t>(types));
    for (int t = 0; t < types; ++t) labels[static_cast<std::size_t>(t)].type = t;
    Law law{};
    law.types = types;
    law.labels = labels.data();
    int next = 0;
    for (std::uint32_t a = 0; a < static_cast<std::uint32_t>(types); ++a)
      for (std::uint32_t b = a; b < static_cast<std::uint32_t>(types); ++b, ++next) {
        CHECK_EQUAL(pair_kind<Contact::table>(law, a, b), next);
        CHECK_EQUAL(pair_kind<Contact::table>(law, b, a), next);
      }
  }
}

// ---- random numbers ----

TEST("displacements of spheres are symmetric and do not share bits of the random words") {
  const auto check = [](auto dimensions) {
    constexpr int D = decltype(dimensions)::value;
    constexpr int kAll = D * kMovesPerCall<D>;
    const float step = 120.5f;
    const auto components = [&](const std::uint32_t (&word)[4]) {
      std::array<float, kAll> all{};
      for (int m = 0; m < kMovesPerCall<D>; ++m) displacements<D>(word, m, step, &all[D * m]);
      return all;
    };
    std::mt19937 random(3);
    for (int k = 0; k < 10000; ++k) {
      std::uint32_t word[4], opposite[4];
      for (int i = 0; i < 4; ++i) opposite[i] = ~(word[i] = static_cast<std::uint32_t>(random()));
      const auto forth = components(word), back = components(opposite);
      for (int i = 0; i < kAll; ++i) {
        CHECK_EQUAL(forth[i], -back[i]);
        CHECK_EQUAL(std::fmod(forth[i], 2.0f), 0.0f);
        CHECK(std::abs(forth[i]) <= 16383.5f * step + 1);
      }
    }
    // The fourth word chooses the particle; each bit of the others serves one component at most.
    const std::uint32_t none[4] = {};
    const auto before = components(none);
    std::array<int, kAll> bits{};
    for (int bit = 0; bit < 128; ++bit) {
      std::uint32_t word[4] = {};
      word[bit / 32] = 1u << bit % 32;
      const auto after = components(word);
      int changed = 0;
      for (int i = 0; i < kAll; ++i)
        if (after[i] != before[i]) {
          ++changed;
          ++bits[i];
        }
      CHECK(changed <= (bit < 96 ? 1 : 0));
    }
    for (const int n : bits) CHECK_EQUAL(n, 15);
  };
  check(std::integral_constant<int, 2>{});
  check(std::integral_constant<int, 3>{});
}

TEST("the sets come in every order, each set equally often in each place") {
  std::mt19937 random(4);
  for (const int n : {4, 8}) {
    const int draws = 80000;
    std::vector<int> at(static_cast<std::size_t>(n * n));
    for (int k = 0; k < draws; ++k) {
      std::uint32_t word[8];
      for (std::uint32_t& w : word) w = static_cast<std::uint32_t>(random());
      const std::uint32_t order = permutation<3>(n, word);
      unsigned seen = 0;
      for (int i = 0; i < n; ++i) {
        const unsigned set = order >> (3 * i) & 7u;
        seen |= 1u << set;
        ++at[static_cast<std::size_t>(n) * i + set];
      }
      CHECK_EQUAL(seen, (1u << n) - 1);
    }
    // Six standard deviations, in 80 numbers: a false alarm of 2e-7 over seeds.
    const double mean = static_cast<double>(draws) / n, sigma = std::sqrt(mean * (1 - 1.0 / n));
    for (const int count : at) CHECK(std::abs(count - mean) < 6 * sigma);
  }
}

TEST("the shift of the grid is even, in the box, and reaches all of it") {
  const State s = lone_particle(box_of(3.0, 4.2, 5.1));
  std::array<double, 3> sum{};
  const int draws = 20000;
  for (std::uint64_t cycle = 0; cycle < draws; ++cycle) {
    const Draw d = draw_cycle(s, cycle);
    for (int a = 0; a < 3; ++a) {
      CHECK(d.shift_cells[a] >= 0 && d.shift_cells[a] < s.geometry.cells[a]);
      CHECK(d.shift_rest[a] >= 0 && d.shift_rest[a] < 2 * s.geometry.half[a]);
      CHECK_EQUAL(std::fmod(d.shift_rest[a], 2.0f), 0.0f);
      sum[a] +=
          (d.shift_cells[a] + d.shift_rest[a] / (2 * s.geometry.half[a])) / s.geometry.cells[a];
    }
  }
  // Six standard deviations of the mean of a uniform variable.
  for (const double x : sum) CHECK(std::abs(x / draws - 0.5) < 6 * std::sqrt(1.0 / 12 / draws));
}

// ---- boxes ----

TEST("in every box the cells keep their shape to 1.4e-6 and separate what is beyond them") {
  std::mt19937_64 random(5);
  const auto uniform = [&](double from, double to) {
    return from + (to - from) * static_cast<double>(random()) * 0x1p-64;
  };
  std::vector<double> errors;
  for (int k = 0; k < 40; ++k) {
    Parameters p = box_of(uniform(3, 9), uniform(3, 40), k % 2 ? uniform(3, 9) : 0);
    if (k % 5 == 4) p.box[1] = p.box[0] * (1 + 1e-7 * k);  // almost a simple fraction
    if (k % 3 == 2) p.cell_width = uniform(1, 1.33);
    const State s = lone_particle(p);
    double worst = 0;
    for (int a = 0; a < p.dimensions; ++a) {
      const auto half = static_cast<std::int64_t>(s.geometry.half[a]);
      CHECK_EQUAL(half % 2, 0);
      CHECK(17 * half < 1 << 24);
      CHECK_EQUAL(s.extent[a], 2 * half * s.geometry.cells[a]);
      CHECK(2 * static_cast<double>(half) * s.unit < 4.0 / 3 * (1 + 2e-6));
      CHECK(static_cast<double>(2 * half + 2) * s.unit >= 1);
      worst = std::max(worst, std::abs(static_cast<double>(s.extent[a]) * s.unit / p.box[a] - 1));
    }
    CHECK(worst < 1.4e-6);
    errors.push_back(worst);
  }
  std::nth_element(errors.begin(), errors.begin() + 20, errors.end());
  CHECK(errors[20] < 5e-9);  // as a rule
}

// ---- tiles ----

namespace {

// Checks the tiles of a grid: they are a partition of the cells; no two active cells of a set
// touch, within a tile or across the borders of tiles and of the box; what surrounds an active cell
// is in its tile.
template <int D>
void check_tiles(const int (&cells)[3], const int (&tile)[3]) {
  Geometry g{};
  int all = 1, tiles = 1;
  for (int a = 0; a < 3; ++a) {
    g.cells[a] = a < D ? cells[a] : 1;
    g.tile[a] = a < D ? tile[a] : 1;
    g.tiles[a] = (g.cells[a] + g.tile[a] - 1) / g.tile[a];
    all *= g.cells[a];
    tiles *= g.tiles[a];
  }
  std::vector<int> owner(static_cast<std::size_t>(all), -1), set(static_cast<std::size_t>(all), -1);
  for (int t = 0; t < tiles; ++t) {
    const TileBounds b = tile_bounds<D>(g, t);
    int at[3] = {0, 0, 0};
    for (at[2] = 0; at[2] < (D == 3 ? b.size[2] : 1); ++at[2])
      for (at[1] = 0; at[1] < b.size[1]; ++at[1])
        for (at[0] = 0; at[0] < b.size[0]; ++at[0]) {
          const auto cell = static_cast<std::size_t>(grid_cell<D>(g, b, at));
          CHECK_EQUAL(owner[cell], -1);
          owner[cell] = t;
          bool active = true;
          for (int a = 0; a < D; ++a) active = active && at[a] > 0;
          if (active) set[cell] = set_of<D>(at);
        }
    for (int a = 0; a < D; ++a) CHECK(b.size[a] >= 1 && b.size[a] <= tile[a]);
  }
  CHECK(std::count(owner.begin(), owner.end(), -1) == 0);
  int at[3];
  for (at[2] = 0; at[2] < g.cells[2]; ++at[2])
    for (at[1] = 0; at[1] < g.cells[1]; ++at[1])
      for (at[0] = 0; at[0] < g.cells[0]; ++at[0]) {
        const auto index = [&](int x, int y, int z) {
          const int to[3] = {(at[0] + x + g.cells[0]) % g.cells[0],
                             (at[1] + y + g.cells[1]) % g.cells[1],
                             (at[2] + z + g.cells[2]) % g.cells[2]};
          return static_cast<std::size_t>((to[2] * g.cells[1] + to[1]) * g.cells[0] + to[0]);
        };
        const std::size_t here = index(0, 0, 0);
        if (set[here] < 0) continue;
        std::set<std::size_t> around;
        for (int z = D == 3 ? -1 : 0; z <= (D == 3 ? 1 : 0); ++z)
          for (int y = -1; y <= 1; ++y)
            for (int x = -1; x <= 1; ++x) {
              const std::size_t there = index(x, y, z);
              around.insert(there);
              if (there == here) continue;
              CHECK(set[there] != set[here]);
              // An active neighbor is of the same tile; frozen ones are copied.
              CHECK(set[there] < 0 || owner[there] == owner[here]);
            }
        CHECK_EQUAL(around.size(), D == 3 ? 27u : 9u);
      }
}

}  // namespace

TEST("active cells of a set never touch, whatever the grid and its tiles") {
  for (int nx = 3; nx <= 19; ++nx)
    for (const int ny : {3, 4, 5, 8, 17, 33})
      for (int tile = 2; tile <= kMaxTile; ++tile) {
        check_tiles<2>({nx, ny, 1}, {tile, tile, 1});
        check_tiles<2>({nx, ny, 1}, {tile, 4, 1});
        if (nx < 12 && ny < 9 && (tile < 6 || tile == kMaxTile))
          for (const int nz : {3, 4, 7}) {
            check_tiles<3>({nx, ny, nz}, {tile, tile, tile});
            check_tiles<3>({nx, ny, nz}, {tile, 5, 2});
          }
      }
}

TEST("a mixture has at most two tiles for each of 132 multiprocessors, or nearly three") {
  const double at[6] = {0, 0, 0, 3, 0, 0};
  const auto tiles_of = [&](double edge, bool mixed, int tile) {
    Parameters p = box_of(edge, edge, edge);
    if (mixed) p.diameters = {1.0, 0.7};
    p.tile.fill(tile);
    const Geometry g = make_state(at, 2, p).geometry;
    return std::array<int, 3>{g.tiles[0], g.tiles[1], g.tiles[2]};
  };
  CHECK((tiles_of(57.2, true, 0) == std::array<int, 3>{7, 6, 6}));
  CHECK((tiles_of(57.2, true, 9) == std::array<int, 3>{7, 7, 7}));
  CHECK((tiles_of(57.2, false, 0) == std::array<int, 3>{7, 7, 7}));
  CHECK((tiles_of(54.2, true, 0) == std::array<int, 3>{6, 6, 6}));
  CHECK((tiles_of(64.2, true, 0) == std::array<int, 3>{8, 8, 8}));
  for (int cells = 55; cells <= 63; ++cells) {
    const auto [x, y, z] = tiles_of(cells + 0.2, true, 0);
    CHECK(x * y * z > 237 && x * y * z <= 264);
  }
}

TEST("tiles in order give each multiprocessor about the same work") {
  Geometry g{};
  const int cells[3] = {57, 57, 57}, numbers[3] = {6, 6, 7};
  std::copy_n(cells, 3, g.cells);
  std::copy_n(numbers, 3, g.tiles);
  constexpr int kTiles = 252, kMultiprocessors = 132;
  const auto order = balanced_order<3>(g, kTiles, kMultiprocessors);
  CHECK_EQUAL(order.size(), static_cast<std::size_t>(kTiles));
  std::set<int> seen;
  std::vector<int> work(kMultiprocessors, 0), without(kMultiprocessors, 0);
  const auto active = [&](int tile) {
    const TileBounds b = tile_bounds<3>(g, tile);
    return (b.size[0] - 1) * (b.size[1] - 1) * (b.size[2] - 1);
  };
  for (int block = 0; block < kTiles; ++block) {
    const auto on = static_cast<std::size_t>(block % kMultiprocessors);
    const int tile = order[static_cast<std::size_t>(block)];
    seen.insert(tile);
    work[on] += active(tile);
    without[on] += active(block);
  }
  CHECK(seen.size() == kTiles && *seen.rbegin() == kTiles - 1);
  const int all = std::accumulate(work.begin(), work.end(), 0);
  const int busiest = *std::max_element(work.begin(), work.end());
  CHECK(busiest * kMultiprocessors < all * 11 / 10);
  CHECK(busiest < *std::max_element(without.begin(), without.end()));
  std::copy_n(cells, 3, g.tiles);  // all alike
  CHECK(balanced_order<3>(g, 57 * 57 * 57, kMultiprocessors).empty());
}

TEST("a swap needs room for the larger diameter, with a clearance above the rounding") {
  Parameters p = box_of(9.1, 8.3, 7.7);
  p.diameters = {1.25};
  p.swap_rounds = 1;
  const double origin[3] = {0, 0, 0};
  const State s = make_state(origin, 1, p);
  SwapRules rules = swap_rules(s, 0);
  const double sigma = 1.25 / s.unit;
  CHECK_EQUAL(rules.clearance, 0x1p-40 * sigma);
  CHECK(rules.clearance > 100 * (std::nextafter(sigma, 2 * sigma) - sigma));

  rules.clearance = 0x1p-10;
  rules.range = 50;
  const SwapCandidate enough{100 + 0x1p-10, 0}, wide{1000, 1},
      narrow{std::nextafter(enough.room, 0.0), 2};
  for (const double smaller : {50.0, 70.0, 100.0}) {  // either particle may have the larger one
    CHECK(swaps(rules, enough, wide, 100, smaller) && swaps(rules, enough, wide, smaller, 100));
    CHECK(swaps(rules, wide, enough, 100, smaller) && swaps(rules, wide, enough, smaller, 100));
    CHECK(!swaps(rules, narrow, wide, 100, smaller) && !swaps(rules, narrow, wide, smaller, 100));
    CHECK(!swaps(rules, wide, narrow, 100, smaller) && !swaps(rules, wide, narrow, smaller, 100));
  }
  CHECK(!swaps(rules, wide, wide, 100, std::nextafter(50.0, 0.0)));
}

TEST("a particle lands in one cell of one tile and stays where it is in the box") {
  std::mt19937 random(6);
  for (const int tile : {2, 3, 16})
    for (int k = 0; k < 20; ++k) {
      Parameters p = box_of(3.1 + k % 4, 3.3, 4.9);
      p.tile = {tile, 2 + k % 3, tile};
      p.seed = static_cast<std::uint64_t>(k);
      double at[3];
      for (int a = 0; a < 3; ++a)
        at[a] = (static_cast<double>(random()) * 0x1p-32 - 0.5) * p.box[a];
      State s = make_state(at, 1, p);
      const Geometry& g = s.geometry;
      const Cells old = s.start;
      const Draw d = draw_cycle(s, static_cast<std::uint64_t>(k));
      Cells now = old;
      std::fill(now.counts.begin(), now.counts.end(), 0u);
      int landed = 0;
      for (int t = 0; t < g.tiles[0] * g.tiles[1] * g.tiles[2]; ++t) {
        const TileBounds b = tile_bounds<3>(g, t);
        int from[3];
        for (from[2] = 0; from[2] <= b.size[2] + 1; ++from[2])
          for (from[1] = 0; from[1] <= b.size[1] + 1; ++from[1])
            for (from[0] = 0; from[0] <= b.size[0] + 1; ++from[0]) {
              const std::int64_t cell = old_cell<3>(g, d, b, from);
              if (old.counts[cell] == 0) continue;
              const auto l = land<3>(g, d, b, old.spheres[cell * g.slots], from);
              bool own = l.here;
              for (int a = 0; a < 3; ++a) own = own && l.cell[a] < b.size[a];
              if (!own) continue;
              ++landed;
              float local[3];
              for (int a = 0; a < 3; ++a) {
                local[a] = l.r[a] - cell_center(g, b, a, l.cell[a]);
                CHECK(std::abs(local[a]) < g.half[a]);
              }
              const std::int64_t to = grid_cell<3>(g, b, l.cell);
              now.counts[to] = 1;
              now.spheres[to * g.slots] = {local[0], local[1], local[2], 0};
            }
      }
      CHECK_EQUAL(landed, 1);
      const Snapshot before = snapshot_of(s, old);
      move_origin(s, d);
      CHECK(snapshot_of(s, now).places == before.places);
    }
}
