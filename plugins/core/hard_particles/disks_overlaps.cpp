// SPDX-License-Identifier: BSD-3-Clause
#include "disks_overlaps.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "disks_state.h"

namespace manymove::hard_particles {
namespace {

constexpr std::size_t kCrowd = 200;

// Calls pair(i, j, squared distance) for all pairs within a diameter and some beyond, in float64
// and with a cell list of its own: an answer independent of the engine's grid. Where more than
// kCrowd disks share a cell it stops: all pairs of a heap would take for ever.
template <class Pair>
void for_close_pairs(const double* xy, std::size_t n, const double* box, double diameter,
                     Pair&& pair) {
  std::size_t cells[2];
  for (int a = 0; a < 2; ++a)
    cells[a] = static_cast<std::size_t>(std::max(1.0, std::floor(box[a] / diameter)));
  std::vector<std::size_t> head(cells[0] * cells[1], n), next(n);
  std::vector<std::uint8_t> crowd(cells[0] * cells[1]);
  const auto cell_of = [&](std::size_t i, int a) {
    const double f = xy[2 * i + a] / box[a] + 0.5;
    return std::min(cells[a] - 1,
                    static_cast<std::size_t>((f - std::floor(f)) * static_cast<double>(cells[a])));
  };
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t column = cell_of(i, 0), row = cell_of(i, 1);
    for (std::size_t b = 0; b < std::min<std::size_t>(3, cells[1]); ++b)
      for (std::size_t a = 0; a < std::min<std::size_t>(3, cells[0]); ++a) {
        const std::size_t c = (column + cells[0] - 1 + a) % cells[0],
                          r = (row + cells[1] - 1 + b) % cells[1];
        for (std::size_t j = head[r * cells[0] + c]; j != n; j = next[j]) {
          double distance2 = 0;
          for (int k = 0; k < 2; ++k) {
            double d = xy[2 * i + k] - xy[2 * j + k];
            d -= box[k] * std::nearbyint(d / box[k]);
            distance2 += d * d;
          }
          pair(j, i, distance2);
        }
      }
    const std::size_t here = row * cells[0] + column;
    next[i] = head[here];
    head[here] = i;
    if (++crowd[here] > kCrowd) break;
  }
}

}  // namespace

ClosePair closest_pair(const double* xy, std::size_t n, const double* box, double diameter) {
  ClosePair best{0, 0, std::numeric_limits<double>::infinity()};
  for_close_pairs(xy, n, box, diameter, [&](std::size_t i, std::size_t j, double distance2) {
    if (distance2 < best.distance2) best = {i, j, distance2};
  });
  return best;
}

std::size_t count_overlaps(const double* xy, std::size_t particles, const double box[2],
                           double diameter) {
  const double contact = diameter * diameter * (1 - 1e-12);
  std::size_t count = 0;
  for_close_pairs(xy, particles, box, diameter, [&](std::size_t, std::size_t, double distance2) {
    count += distance2 < contact;
  });
  return count;
}

double deepest_overlap(const State& s, const double* xy) {
  const auto pair = closest_pair(xy, s.particles, s.parameters.box, s.parameters.diameter);
  return std::max(0.0, 1 - std::sqrt(pair.distance2) / s.parameters.diameter);
}

double deepest_overlap(const State& s, const Snapshot& data) {
  std::vector<double> xy(2 * s.particles);
  export_positions(s, data, xy.data());
  return deepest_overlap(s, xy.data());
}

}  // namespace manymove::hard_particles
