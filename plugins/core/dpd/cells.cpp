// SPDX-License-Identifier: BSD-3-Clause
// Cells, the parts of ranks, the reach of lists and positions in 16 bits, as settings.h declares
// them.
#include "cells.h"

#include <algorithm>
#include <cmath>

#include "settings.h"

namespace manymove::dpd {

Cells cells_of(const Settings& s, double count, const Brick* here) {
  Cells cells{};
  // Each cell is at least as wide as lists reach, so that the neighbors of a particle are in its
  // cell and in the 26 around it (section 3.3 of the paper).
  const double reach = s.cutoff + s.skin;
  double width[3];
  widths_of(s.box, width);
  for (int a = 0; a < 3; ++a) {
    const double frame = s.box.periodic[a] ? width[a] : 2 * width[a];
    cells.count[a] = static_cast<int>(std::clamp(frame / (reach * (1 + 1e-6)), 1.0, 1024.0));
  }
  const auto total = [&] {
    return static_cast<double>(cells.count[0]) * cells.count[1] * cells.count[2];
  };
  // A thin gas needs no more cells than a few per particle: the longest row is halved, which only
  // makes cells wider.
  while (total() > 8.0 * count + 4096) {
    int& most = *std::max_element(cells.count, cells.count + 3);
    most = (most + 1) / 2;
  }
  cells.narrow = *std::min_element(cells.count, cells.count + 3) < 4;
  for (int a = 0; a < 3; ++a) {
    cells.first[a] = 0;
    cells.here[a] = cells.count[a];
    if (!here || here->beyond[a] == 0xffffffffu) continue;
    const auto along = static_cast<std::uint32_t>(cells.count[a]);
    const int first = static_cast<int>(bin_of(here->low[a], along)),
              last = static_cast<int>(bin_of(here->low[a] + here->beyond[a], along)),
              number = (last - first + cells.count[a]) % cells.count[a] + 1;
    // Where the last one is the first again, they are all.
    if (number == cells.count[a] || (first == last && here->beyond[a] >> 31)) continue;
    cells.first[a] = first;
    cells.here[a] = number;
  }
  const int most = *std::max_element(cells.here, cells.here + 3);
  int bits = 0;
  while (most > 1 << bits) ++bits;
  // Sorting goes by bytes.
  cells.fine = bits <= 8 ? std::min(2, 8 - bits) : 0;
  cells.bits = bits + cells.fine;
  const CoordinateFrame<Mixed> frame = frame_of<Mixed>(s.box);
  cells.edges = frame.edges;
  cells.to = frame.to;
  lengthen_reach(cells, s, 0);
  // Farther apart than half a width of a tilted box, two places may have nearer images than those
  // that differ least in fractions: there, all pairs of the cells around come into lists.
  for (int a = 0; a < 3; ++a)
    if (frame.tilted && s.box.periodic[a] && width[a] < 2 * reach * (1 + 1e-4))
      cells.cutoff = 1e15f;
  cells.largest_radius = largest_radius_of(s, 0);
  look_ahead(cells, 0, 0);
  return cells;
}

void lengthen_reach(Cells& cells, const Settings& s, double share) {
  if (cells.cutoff < 1e14f)
    cells.cutoff = static_cast<float>((s.cutoff + share * s.skin) * (1 + 3e-5));
}

float largest_radius_of(const Settings& s, double left_out) {
  return static_cast<float>(0.5 * s.skin * (1 - 1e-5)) * static_cast<float>(1 - left_out);
}

void look_ahead(Cells& cells, double time_step, std::int64_t steps) {
  const bool known = steps > 0;
  // A sphere is ahead of its particle by v t / 2, where t is the time that lists are expected to
  // hold. A particle at rest needs room only for what forces do.
  cells.rest_radius = (known ? 0.45f : 1.0f) * cells.largest_radius;
  cells.farthest_ahead = (known ? kFarthestAhead : 0.0f) * cells.largest_radius;
  cells.time_ahead = static_cast<float>(0.5 * time_step * static_cast<double>(steps));
}

ShortFormat shorts_of(const Settings& s, double cutoff) {
  ShortFormat shorts;
  const CoordinateFrame<Mixed> frame = frame_of<Mixed>(s.box);
  double width[3], part[3];
  widths_of(s.box, width);
  for (int a = 0; a < 3; ++a) {
    // Halved while more than four times the lists' reach is left: short coordinates repeat after
    // this share, 2^-shift, of the box.
    double length = s.box.periodic[a] ? width[a] : 2 * width[a];
    shorts.shift[a] = 0;
    while (shorts.shift[a] < 15 && length > 8 * (s.cutoff + s.skin)) {
      length /= 2;
      ++shorts.shift[a];
    }
    part[a] = std::ldexp(1.0, -shorts.shift[a]);
  }
  const auto scaled = [&](float length, int a) { return static_cast<float>(length * part[a]); };
  const Matrix<float>& e = frame.edges;
  Matrix<float>& of_unit = shorts.edges;
  of_unit = {scaled(e.xx, 0), scaled(e.yy, 1), scaled(e.zz, 2),
             scaled(e.xy, 1), scaled(e.xz, 2), scaled(e.yz, 2)};
  shorts.tilted = frame.tilted;
  // Rounding to 16 bits moves each of two places by up to a unit of 2^-16 along each edge:
  // neighbors within the cutoff are within this margin more.
  const auto unit = [](float length) { return 2 * 65536.0 * std::fabs(length); };
  const double margin = std::hypot(unit(of_unit.xx) + unit(of_unit.xy) + unit(of_unit.xz),
                                   unit(of_unit.yy) + unit(of_unit.yz), unit(of_unit.zz));
  const double reach = (cutoff + margin) * (1 + 1e-5);
  // In units of zz.
  const double unit_length = of_unit.zz;
  for (float* length : {&of_unit.xx, &of_unit.yy, &of_unit.xy, &of_unit.xz, &of_unit.yz})
    *length = static_cast<float>(*length / unit_length);
  shorts.cutoff_squared = static_cast<float>(reach / unit_length * (reach / unit_length));
  return shorts;
}

BrickDecomposition decomposition_of(const Settings& settings, Communicator& communicator,
                                    double ahead) {
  std::vector<double> cut[3];
  double width[3], reach[3];
  widths_of(settings.box, width);
  for (int a = 0; a < 3; ++a) {
    const bool periodic = settings.box.periodic[a];
    for (const double fraction : settings.grid.cut[a])
      cut[a].push_back(periodic ? fraction : 0.25 + 0.5 * fraction);
    // Longer by more than the rounding of positions, and than lists reach (Cells::cutoff).
    const double frame = periodic ? width[a] : 2 * width[a];
    reach[a] = (settings.cutoff + settings.skin + ahead) * (1 + 2e-5) / frame;
  }
  return {communicator, cut, settings.grid.rank, reach};
}

int lanes_of(int count) { return count < 50'000 ? 4 : count < 400'000 ? 2 : 1; }

int expected_entries(const Settings& s, double particles) {
  const double volume = s.box.extent[0] * s.box.extent[1] * s.box.extent[2];
  const double reach = s.cutoff + s.skin;
  // Neighbors within the reach R of lists are (4 pi / 3) R^3 N / V on average.
  const double expected = 4.18879 * reach * reach * reach * particles / volume;
  return static_cast<int>(std::min(1.4 * expected + 16, particles + kGroup));
}

}  // namespace manymove::dpd
