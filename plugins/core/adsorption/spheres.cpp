// SPDX-License-Identifier: BSD-3-Clause
#include "spheres.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "../runtime/philox.h"

namespace manymove::adsorption {
namespace {

// The vector of fractional coordinates in angstrom.
void to_angstrom(const double d[3], const double* edges, double r[3]) {
  r[0] = d[0] * edges[0] + d[1] * edges[3] + d[2] * edges[6];
  r[1] = d[1] * edges[4] + d[2] * edges[7];
  r[2] = d[2] * edges[8];
}
void nearest_image(const double* one, const double* other, double d[3]) {
  for (int a = 0; a < 3; ++a) {
    d[a] = other[a] - one[a];
    d[a] -= std::rint(d[a]);
  }
}
double square(const double r[3]) { return r[0] * r[0] + r[1] * r[1] + r[2] * r[2]; }

// A sphere that meets the one around the origin. A point p on the latter is inside if p r > least.
struct Neighbor {
  double r[3], least;
};

}  // namespace

ClosestPair closest_pair(const double* fractional, std::size_t atoms, const double* edges) {
  std::size_t one = 0, other = 0;
  double d[3], r[3], closest = HUGE_VAL;
  for (std::size_t i = 0; i < atoms; ++i)
    for (std::size_t j = i + 1; j < atoms; ++j) {
      nearest_image(fractional + 3 * i, fractional + 3 * j, d);
      to_angstrom(d, edges, r);
      if (const double r2 = square(r); r2 < closest) one = i, other = j, closest = r2;
    }
  return {one, other, std::sqrt(closest)};
}

std::vector<double> free_points(const double* fractional, std::size_t atoms, const double* edges,
                                const double* radii, const std::vector<std::uint32_t>& own,
                                std::uint32_t first, std::uint32_t count, std::uint64_t seed) {
  std::vector<double> free(own.size());
  // Distances of opposite faces: an atom is no closer than its planes.
  const double tilt = edges[3] * edges[7] - edges[4] * edges[6];
  const double wide[3] = {1 / std::hypot(1 / edges[0], edges[3] / (edges[0] * edges[4]),
                                         tilt / (edges[0] * edges[4] * edges[8])),
                          1 / std::hypot(1 / edges[4], edges[7] / (edges[4] * edges[8])), edges[8]};
  std::vector<Neighbor> near;
  for (std::size_t i = 0; i < own.size(); ++i) {
    near.clear();
    for (std::size_t j = 0; j < atoms; ++j) {
      const double reach = radii[i] + radii[j];
      double d[3], image[3];
      nearest_image(fractional + 3 * i, fractional + 3 * j, d);
      int low[3], high[3];
      for (int a = 0; a < 3; ++a) {
        low[a] = static_cast<int>(std::ceil(-reach / wide[a] - d[a]));
        high[a] = static_cast<int>(std::floor(reach / wide[a] - d[a]));
      }
      for (int x = low[0]; x <= high[0]; ++x)
        for (int y = low[1]; y <= high[1]; ++y)
          for (int z = low[2]; z <= high[2]; ++z) {
            image[0] = d[0] + x, image[1] = d[1] + y, image[2] = d[2] + z;
            Neighbor n;
            to_angstrom(image, edges, n.r);
            const double r2 = square(n.r);
            if (!(r2 > 1e-12 && r2 < reach * reach)) continue;
            // |p - r|^2 < s^2, where |p| is the radius.
            n.least = 0.5 * (radii[i] * radii[i] + r2 - radii[j] * radii[j]);
            near.push_back(n);
          }
    }
    // The spheres that cover most come first.
    std::ranges::sort(near, {}, [](const Neighbor& n) { return n.least / std::sqrt(square(n.r)); });
    for (std::uint32_t k = first; k < first + count; ++k) {
      std::uint32_t word[4] = {own[i], k, 0, 0};
      philox(word, {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
      const double height = (word[0] + 0.5) * 0x1p-31 - 1, turn = word[1] * 0x1p-31;
      const double across = radii[i] * std::sqrt(1 - height * height);
      const double p[3] = {across * std::cos(turn * std::numbers::pi),
                           across * std::sin(turn * std::numbers::pi), radii[i] * height};
      free[i] += std::ranges::none_of(near, [&p](const Neighbor& n) {
        return p[0] * n.r[0] + p[1] * n.r[1] + p[2] * n.r[2] > n.least;
      });
    }
  }
  return free;
}

}  // namespace manymove::adsorption
