// SPDX-License-Identifier: BSD-3-Clause
#include "decomposition.h"

#include "settings.h"

namespace manymove::dpd {

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

}  // namespace manymove::dpd
