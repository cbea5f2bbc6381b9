// SPDX-License-Identifier: BSD-3-Clause
// Constant pressure of spheres: what the host foretells of the trial changes of the volume, for the
// device to choose from, is what they would be.
#include <cmath>
#include <vector>

#include "core/hard_particles/constant_pressure/volume.h"
#include "core/hard_particles/grid.h"
#include "support/lattices.h"
#include "support/test.h"

using namespace manymove::hard_particles;

namespace {

// A simple cubic or square lattice with `m` particles along each edge.
State crystal(int dimensions, int m, double spacing, bool ln_volume) {
  const auto axes = static_cast<std::size_t>(dimensions);
  manymove::test::Start s =
      manymove::test::lattice(std::vector<int>(axes, m), std::vector<double>(axes, spacing));
  s.parameters.seed = 4;
  s.parameters.beta_pressure = 8;
  s.parameters.ln_volume = ln_volume;
  return make_state(s.positions.data(), s.particles, s.parameters);
}

}  // namespace

TEST("trial changes of the volume are foretold for every least ratio") {
  int outcomes = 0, other_cells = 0, other_volumes = 0;
  for (const int dimensions : {2, 3})
    for (const bool ln_volume : {true, false}) {
      // With the second, the cells are hardly wider than a diameter, and change with the volume.
      for (const double spacing : {1.1, 1.0004}) {
        State s = crystal(dimensions, dimensions == 2 ? 24 : 10, spacing, ln_volume);
        for (int cycle = 0; cycle < 40; ++cycle) {
          s.data.counters.cycles = cycle;
          const Snapshot before = s.data;
          const Geometry grid = s.geometry;
          const double unit = s.unit, most = least_ratio_wanted(s).most;
          const VolumeOutcomes all = foretell_volume(s, most);
          CHECK(s.unit == unit && same_cells(s.geometry, grid) && s.geometry.step == grid.step);
          CHECK(s.data.volume == before.volume &&
                s.data.volume_moves.trials == before.volume_moves.trials);
          double above = most;
          for (int k = 0; k < all.number; ++k) {
            ++outcomes;
            // From the largest ratio of this outcome to the smallest one.
            for (const double share : {0.0, 0.3, 1.0}) {
              const double ratio = share == 1 ? all.from[k] : above + share * (all.from[k] - above);
              const double to = change_volume(s, ratio);
              set_volume(s, to);
              other_cells += !same_cells(s.geometry, grid);
              other_volumes += to != before.volume;
              CHECK(all.host[k] == !same_cells(s.geometry, grid));
              if (!all.host[k]) {
                const Scale scale = scale_of(s);
                CHECK(scale.unit == all.scale[k].unit && scale.contact == all.scale[k].contact);
                CHECK(scale.largest == all.scale[k].largest && scale.step == all.scale[k].step);
                CHECK(scale.margin == all.scale[k].margin);
              }
              set_volume(s, before.volume);
              s.data.volume_moves = before.volume_moves;
            }
            above = std::nextafter(all.from[k], 0.0);
          }
        }
      }
    }
  CHECK(outcomes > 1000 && other_cells > 100 && other_volumes > 1000);
}
