// SPDX-License-Identifier: BSD-3-Clause
// Decisions of external fields against the exponential in long double, energies against exact
// integers, and estimates against energies (docs/theory/external_fields.md, sections 1 and 2).
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <random>

#include "core/hard_particles/fields.h"
#include "support/test.h"

using namespace manymove;
using namespace manymove::hard_particles;

namespace {

// Compares a decision with that of the exact exponential, unless both sides are equal to rounding.
void check_decision(double rise, std::uint32_t word, std::uint32_t second) {
  const long double bound = std::exp(-static_cast<long double>(rise)) * 0x1p64L;
  const long double given = static_cast<long double>(word) * 0x1p32L + second;
  if (std::abs(given - bound) < 2e-15L * bound + 1) return;
  CHECK(accepts_rise(rise, word, [&] { return second; }) == (given < bound));
}

using Random = std::mt19937_64;

double uniform(Random& random, double a, double b) {
  return std::uniform_real_distribution<double>(a, b)(random);
}

// One to three fields in three dimensions, of any kind or only hard walls. points: for springs.
// scale: of all lengths, in which energies are the same.
FieldView random_fields(Random& random, bool any, const double* points, double scale = 1) {
  FieldView view{};
  for (int a = 0; a < 3; ++a) {
    view.extent[a] = 2e7;
    view.unit[a] = scale * uniform(random, 0.9, 1) * 8e-7;
    view.edges[a] = static_cast<float>(view.extent[a] * view.unit[a]);
    view.largest_unit = std::max(view.largest_unit, view.unit[a]);
  }
  for (int a = 0; a < 3; ++a)
    view.squares[a] = static_cast<float>(std::pow(view.unit[a] / view.largest_unit, 2));
  view.number = 1 + static_cast<int>(random() % 3);
  for (int n = 0; n < view.number; ++n) {
    FieldTerm& t = view.terms[n];
    t.kind = any ? static_cast<FieldKind>(random() % 5) : FieldKind::wall;
    t.shape = static_cast<WallShape>(random() % 3);
    t.direction[random() % 3] = random() % 2 ? 1 : -1;
    for (double& x : t.origin) x = scale * uniform(random, -4, 4);
    t.radius = scale * uniform(random, 3, 12);
    t.sign = random() % 2 ? 1 : -1;
    t.length = scale * (t.value = uniform(random, 0.1, 2));
    const double cutoff = t.length * uniform(random, 1, 3);
    t.range = t.kind == FieldKind::wall || t.kind == FieldKind::harmonic_wall ? t.length : cutoff;
    t.points = points;
    view.soft |= t.kind != FieldKind::wall;
    const bool spring = t.kind == FieldKind::springs, linear = t.kind == FieldKind::linear;
    t.value *= t.kind == FieldKind::wall                      ? scale
               : linear                                       ? 1 / scale
               : spring || t.kind == FieldKind::harmonic_wall ? 1 / (scale * scale)
                                                              : 1;
    for (int a = 0; a < 3; ++a)
      view.jumps[a] |=
          !spring && (linear || t.shape == WallShape::plane ? t.direction[a] != 0 : true);
  }
  return view;
}

// A tile of 5^3 cells in the box of 2e7 units, whose places are above 0 and may be beyond the box.
struct RandomTile {
  Geometry g{};
  TileBounds b{};
  using At = std::array<int, 3>;  // numbers of the first cells
  explicit RandomTile(const At& first) {
    for (int a = 0; a < 3; ++a) {
      g.half[a] = 500000;
      b.size[a] = 5;
      b.first[a] = first[static_cast<std::size_t>(a)];
    }
  }
  explicit RandomTile(Random& random) : RandomTile(some(random)) {}
  static At some(Random& random) {
    At first;
    for (int& each : first) each = static_cast<int>(4 + random() % 15);
    return first;
  }
};

struct Moves {
  int all = 0, without_energies = 0;
};

// Compares the decisions about moves from random places with decisions by energies alone. scale: of
// lengths.
Moves compare_ways(auto&& fields, double scale = 1) {
  Random random(11);
  Moves moves;
  for (int k = 0; k < 20000; ++k) {
    double points[3];
    for (double& x : points) x = scale * uniform(random, -8, 8);
    const FieldView view = fields(random, points);
    const RandomTile at_random(random);
    const TileField<3> field{view, at_random.g, at_random.b};
    const double longest = std::exp(uniform(random, std::log(1e4), std::log(4e5)));
    float start[3], u[3] = {0, 0, 0}, at[3];
    for (float& x : start) x = std::floor(static_cast<float>(uniform(random, -2e6, 2e6)));
    bool forbidden = false;
    double energy = field.energy(0, start, forbidden);
    if (forbidden) continue;
    constexpr int kMoves = 8;
    const FieldsOfTile tile = field.of_tile();
    const FieldsNear near =
        fields_near<3>(view, tile, 0, start, static_cast<float>(1.8 * kMoves * longest));
    float here = near.has_wall ? near.wall.energy<3>(u) : 0;
    for (int move = 0; move < kMoves; ++move) {
      float by[3], to[3];
      for (int a = 0; a < 3; ++a) {
        by[a] = std::floor(static_cast<float>(uniform(random, -longest, longest)));
        to[a] = u[a] + by[a];
        at[a] = start[a] + to[a];
      }
      const auto word = static_cast<std::uint32_t>(random());
      const float bound = tile.soft ? near.bound<3>(view, by, word) : kFree;
      const float there = near.has_wall ? near.wall.energy<3>(to) : 0;
      const float excess = near.excess<3>(view, by, u, bound) + there - here;
      const bool accepted = field.accepts(0, at, energy, word, [] { return 0u; });
      ++moves.all;
      moves.without_energies += std::abs(excess) > near.error;
      CHECK(!(std::abs(excess) > near.error) || (excess < 0) == accepted);
      if (!accepted) continue;
      here = there;
      std::copy_n(to, 3, u);
    }
  }
  return moves;
}

}  // namespace

TEST("a rise of the energy is accepted as the exponential of 64 bits says") {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> exponent(-12, std::log(50.0));
  for (int k = 0; k < 200000; ++k) {
    const double rise = std::exp(exponent(random));
    const auto second = static_cast<std::uint32_t>(random());
    check_decision(rise, static_cast<std::uint32_t>(random()), second);
    // Around the border between acceptance and rejection, where the estimate must not decide alone.
    const double border = std::exp(-rise) * 0x1p32;
    for (const double away : {-3e-4, -1.01e-4, -1e-5, 0.0, 1e-5, 1.01e-4, 3e-4}) {
      const double near = std::floor(border * (1 + away));
      for (const double word : {near - 600, near - 1, near, near + 1, near + 600})
        if (word >= 0 && word < 0x1p32)
          check_decision(rise, static_cast<std::uint32_t>(word), second);
    }
  }
}

TEST("a second word is asked for only where the first one decides nothing") {
  const double rise = std::log(2.0);  // the bound of the first word is about 2^31
  int asked = 0;
  const auto second = [&] { return ++asked, 0u; };
  CHECK(accepts_rise(0.0, 0xffffffffu, second) && accepts_rise(-1.0, 0xffffffffu, second));
  CHECK(accepts_rise(1e-300, 0xffffffffu, second));
  CHECK(!accepts_rise(46.0, 0, second) && !accepts_rise(INFINITY, 0, second));
  CHECK(accepts_rise(rise, 0x7ffffff0u, second) && !accepts_rise(rise, 0x80000010u, second));
  CHECK(asked == 0);
  accepts_rise(44.0, 0, second);
  CHECK(asked == 1);
}

TEST("the energy at a place does not depend on the grid and its tiles") {
  FieldView view{};
  view.number = 1;
  view.terms[0].kind = FieldKind::linear;
  view.terms[0].direction[1] = 1;
  view.terms[0].value = 0.37;
  Geometry g{};
  const double cells[2] = {12, 9};
  for (int a = 0; a < 2; ++a) {
    g.cells[a] = static_cast<int>(cells[a]);
    g.half[a] = 900000.0f;
    view.extent[a] = 2 * 900000.0 * cells[a];
    view.unit[a] = 1.1 / 1.8e6;
  }
  const double place = 12345677,
               expected = mul_rn(0.37, mul_rn(place - view.extent[1] / 2, view.unit[1]));
  for (const double origin : {0.0, 2.0, 12345676.0, 16199998.0})
    for (int first = 0; first < 9; ++first)
      for (int size = 3; size <= 5; ++size) {
        view.origin[1] = origin;
        TileBounds b{};
        b.first[1] = first;
        b.size[0] = b.size[1] = size;
        const TileField<2> field{view, g, b};
        const float middle[2] = {0, 0};
        const double away = place - field.place_of(middle).at[1];
        for (const double r : {away, away + view.extent[1]}) {
          if (std::abs(r) > 900000.0 * (size + 1)) continue;
          const float at[2] = {0, static_cast<float>(r)};
          bool forbidden = false;
          CHECK(field.energy(0, at, forbidden) == expected && !forbidden);
        }
      }
}

TEST("decisions without energies agree with decisions by energies") {
  // Lengths in diameters, in meters, and in units in which squares overflow or vanish in float32.
  for (const double scale : {1.0, 3e-10, 1e-15, 1e-30, 1e10, 1e25})
    for (const bool any : {true, false}) {
      const auto fields = [=](Random& random, const double* points) {
        return random_fields(random, any, points, scale);
      };
      const Moves moves = compare_ways(fields, scale);
      CHECK(moves.all > 30000 && moves.without_energies > moves.all / 3);
    }
}

TEST("hard walls are where they are in all units of length, and if they are hardly oblique") {
  // Moves to places at most 20 units of the lattice from a wall near the end of a long box.
  for (const double scale : {1.0, 3e-10, 1e-15, 1e10})
    for (const double tilt : {0.0, 1e-8}) {
      FieldView view{};
      for (int a = 0; a < 3; ++a) {
        view.extent[a] = 2e9;
        view.unit[a] = view.largest_unit = scale * 8e-7;
        view.squares[a] = 1;
        view.edges[a] = static_cast<float>(view.extent[a] * view.unit[a]);
      }
      view.number = 1;
      view.jumps[0] = tilt != 0;
      view.jumps[2] = true;
      FieldTerm& t = view.terms[0];
      t.kind = FieldKind::wall;
      t.direction[0] = tilt;
      t.direction[2] = 1;
      t.value = t.range = 0.5 * scale;
      t.origin[2] = 2.9e6 * view.unit[2] - t.value;  // the wall is at z = -1e5 in the tile
      const RandomTile tile_there(RandomTile::At{1900, 1000, 1000});
      const TileField<3> field{view, tile_there.g, tile_there.b};
      const FieldsOfTile tile = field.of_tile();
      const float start[3] = {0, 0, 0};
      const FieldsNear near = fields_near<3>(view, tile, 0, start, 2e5f);
      int known = 0;
      for (int z = -20; z <= 20; ++z) {
        const float to[3] = {0, 0, -1e5f + static_cast<float>(z)}, none[3] = {0, 0, 0};
        const float excess = near.excess<3>(view, to, none, kFree) + near.wall.energy<3>(to) -
                             near.wall.energy<3>(none);
        double energy = 0;
        const bool accepted = field.accepts(0, to, energy, 0, [] { return 0u; });
        known += std::abs(excess) > near.error;
        CHECK(!(std::abs(excess) > near.error) || (excess < 0) == accepted);
      }
      CHECK(tilt != 0 || known > 35);
    }
}

TEST("walls at the faces of the box need few energies") {
  // Two hard walls, or a soft one.
  const auto walls = [](int number, FieldKind kind) {
    return [=](Random& random, const double*) {
      FieldView view = random_fields(random, false, nullptr);
      view.number = number;
      for (int n = 0; n < number; ++n) {
        FieldTerm& t = view.terms[n] = {};
        t.kind = kind;
        t.direction[2] = n == 0 ? 1 : -1;
        t.origin[2] = -t.direction[2] * 0.5 * view.extent[2] * view.unit[2];
        t.value = kind == FieldKind::wall ? 0.5 : 5;
        t.range = t.length = kind == FieldKind::wall ? 0.5 : 2;
      }
      view.jumps[0] = view.jumps[1] = false;
      view.jumps[2] = true;
      view.soft = kind != FieldKind::wall;
      return view;
    };
  };
  const Moves hard = compare_ways(walls(2, FieldKind::wall));
  const Moves soft = compare_ways(walls(1, FieldKind::harmonic_wall));
  CHECK(hard.all > 30000 && hard.without_energies > 0.998 * hard.all);
  CHECK(soft.all > 30000 && soft.without_energies > 0.96 * soft.all);
}

TEST("estimates of energies keep their error bound, and walls are where they are estimated") {
  Random random(12);
  int smooth = 0, in_walls = 0, free = 0, beyond = 0;
  for (int k = 0; k < 20000; ++k) {
    double points[3];
    for (double& x : points) x = uniform(random, -8, 8);
    const FieldView view = random_fields(random, true, points);
    const RandomTile at(random);
    const TileField<3> field{view, at.g, at.b};
    const FieldsOfTile tile = field.of_tile();
    const float none[3] = {0, 0, 0};
    float r[3];
    for (float& x : r) x = std::floor(static_cast<float>(uniform(random, -2e6, 2e6)));
    const auto reach = static_cast<float>(uniform(random, 1e4, 1e6)), most = reach / 1.7321f;
    const FieldsNear near = fields_near<3>(view, tile, 0, r, reach);
    const WallNear& wall = near.wall;
    bool forbidden = false;
    const double before = field.energy(0, r, forbidden);
    for (int way = 0; way < 5 && !forbidden; ++way) {
      float by[3], to[3], depth = wall.depth;
      for (int a = 0; a < 3; ++a) {
        by[a] = std::floor(static_cast<float>(uniform(random, -most, most)));
        to[a] = r[a] + by[a];
        depth += wall.inward[a] * by[a];
      }
      const float here = near.has_wall ? wall.energy<3>(none) : 0,
                  there = near.has_wall ? wall.energy<3>(by) : 0;
      if (std::isnan(there - here)) continue;
      bool in_wall = false;
      const double after = field.energy(0, to, in_wall);
      CHECK(in_wall == (there > 1e15f));
      ++(in_wall ? in_walls : free);
      beyond += wall.stiffness != 0 && (depth > wall.top) != (wall.depth > wall.top);
      if (in_wall || !tile.soft) continue;
      smooth += depth > 0 || wall.depth == kNoWall;
      const std::uint32_t word = 1u << 31;  // of which the logarithm is -ln 2
      const double rise = std::log(2.0) + there - here - near.bound<3>(view, by, word);
      CHECK(std::abs(rise - (after - before)) < near.error - 1.4e-5);
    }
  }
  CHECK(beyond > 30);
  CHECK(smooth > 10000 && in_walls > 20 && free > smooth);
}
