// SPDX-License-Identifier: BSD-3-Clause
#include "core/hard_particles/packing.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "support/test.h"

using namespace manymove::hard_particles;

namespace {

std::vector<double> random_points(std::size_t count, double lx, double ly) {
  std::mt19937 random(13);
  std::vector<double> xy;
  for (std::size_t i = 0; i < count; ++i)
    for (const double edge : {lx, ly})
      xy.push_back((static_cast<double>(random()) * 0x1p-32 - 0.5) * edge);
  return xy;
}

double nearest_distance(const std::vector<double>& xy, double lx, double ly) {
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < xy.size(); i += 2)
    for (std::size_t j = 0; j < i; j += 2) {
      const double dx = std::remainder(xy[i] - xy[j], lx),
                   dy = std::remainder(xy[i + 1] - xy[j + 1], ly);
      least = std::min(least, dx * dx + dy * dy);
    }
  return std::sqrt(least);
}

}  // namespace

TEST("random points are pushed apart until no two disks overlap, in the box and reproducibly") {
  // Packing fractions up to 0.7, in boxes down to two diameters.
  const struct {
    std::size_t count;
    double lx, ly;
  } systems[] = {{400, 25, 20}, {3, 2, 2}, {500, 4, 150}, {200, 15, 15}};
  for (const auto& s : systems) {
    auto xy = random_points(s.count, s.lx, s.ly), again = xy;
    const Relaxation done = relax_overlaps(xy, s.lx, s.ly, 1, 100000);
    CHECK_EQUAL(done.worst_depth, 0.0);
    CHECK(nearest_distance(xy, s.lx, s.ly) >= 1);
    for (std::size_t i = 0; i < s.count; ++i) {
      CHECK(xy[2 * i] >= -s.lx / 2 && xy[2 * i] < s.lx / 2);
      CHECK(xy[2 * i + 1] >= -s.ly / 2 && xy[2 * i + 1] < s.ly / 2);
    }
    relax_overlaps(again, s.lx, s.ly, 1, 100000);
    CHECK(again == xy);
  }
}

TEST("two disks in a box of any size are pushed apart") {
  for (const double lx : {1e5, 1e9, 1e150})
    for (const double ly : {2.0, lx}) {
      std::vector<double> xy{0, 0, 0.5, 0};
      CHECK_EQUAL(relax_overlaps(xy, lx, ly, 1, 100).worst_depth, 0.0);
      CHECK(nearest_distance(xy, lx, ly) >= 1);
    }
}

TEST("disks that do not overlap stay where they are, wrapped into the box") {
  std::vector<double> xy = {0, 0, 1, 0, 0, 1, 12, -5};
  const Relaxation done = relax_overlaps(xy, 10, 10, 1, 100);
  CHECK_EQUAL(done.worst_depth, 0.0);
  CHECK(xy == std::vector<double>({0, 0, 1, 0, 0, 1, 2, -5}));
}

TEST("two disks in one place are pushed apart") {
  std::vector<double> xy = {1, 1, 1, 1};
  CHECK_EQUAL(relax_overlaps(xy, 10, 10, 1, 1000).worst_depth, 0.0);
  CHECK(nearest_distance(xy, 10, 10) >= 1);
}

TEST("what cannot be packed keeps an overlap, and its depth is told") {
  auto xy = random_points(30, 4, 4);  // a packing fraction of 1.5
  const Relaxation done = relax_overlaps(xy, 4, 4, 1, 50);
  CHECK(done.iterations <= 50);
  CHECK(std::abs(done.worst_depth - (1 - nearest_distance(xy, 4, 4))) < 1e-12);
  CHECK(done.worst_depth > 0);
}

TEST("no disk and one disk are packed") {
  CHECK_EQUAL(relax_overlaps({}, 10, 10, 1, 10).worst_depth, 0.0);
  double alone[2] = {7, -7};
  CHECK_EQUAL(relax_overlaps(alone, 10, 10, 1, 10).worst_depth, 0.0);
  CHECK_EQUAL(alone[0], -3.0);
  CHECK_EQUAL(alone[1], 3.0);
}
