// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "core/dpd/engine.h"

namespace manymove::test {

// Dissipative particles of one type in a periodic cube, on one rank. The coefficients, of which
// there are (types + 1)^2 with the first index from 0, must outlive the settings.
inline dpd::Settings fluid_in_cube(double edge,
                                   const std::vector<dpd::PairCoefficients>& coefficients) {
  dpd::Settings s{};
  for (int a = 0; a < 3; ++a) {
    s.box.extent[a] = edge;
    s.box.periodic[a] = true;
  }
  s.pairs = {1, coefficients.data(), 1, {1, 0, 0, 0}, false};
  s.cutoff = 1;
  s.skin = 0.3;
  s.time_step = 0.01;
  s.force_to_acceleration = 1;
  s.mass = {0, 1};
  return s;
}

}  // namespace manymove::test
