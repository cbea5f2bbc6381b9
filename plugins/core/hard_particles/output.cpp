// SPDX-License-Identifier: BSD-3-Clause
// What leaves the grid: positions, hashes and sums over disks.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "../runtime/fingerprint.h"
#include "disks_state.h"

namespace manymove::hard_particles {
namespace {

// Calls disk(id, X, Y) with integer positions in the box, for those that the snapshot holds.
template <class Disk>
void for_disks(const State& s, const Snapshot& data, Disk&& disk) {
  const Geometry& g = s.geometry;
  const Frame f = frame_of(s, data.origin);
  for (std::size_t at = 0; at < data.ids.size(); ++at) {
    if (data.ids[at] < 0) continue;
    const auto cell = static_cast<std::int64_t>(at / kSlots);
    const int row = static_cast<int>((data.first_row + cell / g.cells[0]) % g.cells[1]);
    const int column = static_cast<int>(cell % g.cells[0]);
    disk(data.ids[at], place_in_box(g, f, 0, column, data.cells[2 * at]),
         place_in_box(g, f, 1, row, data.cells[2 * at + 1]));
  }
}

}  // namespace

double reach_of(const State& s, std::uint64_t from, std::uint64_t to) {
  if (from == kNever) return std::numeric_limits<double>::infinity();
  const Grid g = grid_of(s);
  return std::max(g.cell_width[0], g.cell_width[1]) * static_cast<double>(to - from);
}

Frame frame_of(const State& s, const std::array<std::int64_t, 2>& origin) {
  Frame f;
  for (int a = 0; a < 2; ++a) {
    f.origin[a] = static_cast<double>(origin[a]);
    f.extent[a] = static_cast<double>(s.extent[a]);
    f.box[a] = s.parameters.box[a];
    f.unit[a] = f.box[a] / f.extent[a];
  }
  return f;
}

void export_positions(const State& s, const Snapshot& data, double* xy) {
  const Frame f = frame_of(s, data.origin);
  for_disks(s, data, [&](std::int32_t id, double x, double y) {
    xy[2 * static_cast<std::size_t>(id)] = coordinate(f, 0, x);
    xy[2 * static_cast<std::size_t>(id) + 1] = coordinate(f, 1, y);
  });
}

std::vector<ParticlePosition> disk_positions(const State& s, const Snapshot& data) {
  const Frame f = frame_of(s, data.origin);
  std::vector<ParticlePosition> disks;
  for_disks(s, data, [&](std::int32_t id, double x, double y) {
    disks.push_back(
        {static_cast<std::uint32_t>(id), {coordinate(f, 0, x), coordinate(f, 1, y), 0.0}});
  });
  return disks;
}

std::uint64_t sum_over_disks(const State& s, const Snapshot& data) {
  std::uint64_t sum = 0;
  for_disks(s, data, [&](std::int32_t id, double x, double y) {
    sum += murmur_mix(
        murmur_mix(murmur_mix(static_cast<std::uint64_t>(id) + 1) ^ static_cast<std::uint64_t>(x)) ^
        static_cast<std::uint64_t>(y));
  });
  return sum;
}

std::uint64_t hash_of(std::uint64_t sum, const Counters& counters) {
  for (std::uint64_t v : {counters.cycles, counters.trial_moves, counters.accepted_moves})
    sum = murmur_mix(sum ^ v);
  return sum;
}

std::uint64_t hash_of(const State& s, const Snapshot& data) {
  return hash_of(sum_over_disks(s, data), data.counters);
}

double occupied_share(const State& s, const Snapshot& data) {
  std::size_t occupied = 0;
  for (std::size_t at = 0; at < data.ids.size(); at += kSlots) occupied += data.ids[at] >= 0;
  return static_cast<double>(occupied) /
         (static_cast<double>(s.geometry.cells[0]) * s.geometry.cells[1]);
}

std::array<double, 2> mean_of(const double* sums, std::size_t rows, std::size_t particles) {
  std::array<double, 2> total{};
  for (std::size_t row = 0; row < rows; ++row)
    for (int k = 0; k < 2; ++k) total[k] += sums[2 * row + k];
  for (double& t : total) t /= static_cast<double>(particles);
  return total;
}

ContactBins contact_bins(const Geometry& g, const Sampling& sampling) {
  ContactBins law;
  law.bins = sampling.bins;
  law.per_unit = 1 / (sampling.bin_width * g.diameter);
  const double farthest = g.diameter * (1 + sampling.bin_width * sampling.bins);
  law.farthest2 = static_cast<float>(farthest * farthest * (1 + 1e-6));
  return law;
}

void move_origin(const State& s, const Draw& draw, std::array<std::int64_t, 2>& origin) {
  for (int a = 0; a < 2; ++a) {
    const auto half = static_cast<std::int64_t>(s.geometry.half[a]);
    origin[a] += 2 * half * draw.shift_cells[a] + static_cast<std::int64_t>(draw.shift_rest[a]);
    if (origin[a] >= s.extent[a]) origin[a] -= s.extent[a];
  }
}

}  // namespace manymove::hard_particles
