// SPDX-License-Identifier: BSD-3-Clause
// Starts of hard particles on lattices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/hard_particles/engine.h"

namespace manymove::test {

enum class Sizes { one, additive, table };

struct Start {
  hard_particles::Parameters parameters;
  std::vector<double> positions;
  std::size_t particles = 0;

  hard_particles::Snapshot snapshot() const {
    hard_particles::Repair repair;
    return make_snapshot(positions.data(), particles, parameters, repair);
  }
};

// As many particles along each axis, so far apart. Diameters are from `smallest` to 1.
inline Start lattice(const std::vector<int>& shape, const std::vector<double>& spacing,
                     Sizes sizes = Sizes::one, double smallest = 0.3) {
  Start s;
  hard_particles::Parameters& p = s.parameters;
  p.dimensions = static_cast<int>(shape.size());
  s.particles = 1;
  for (std::size_t a = 0; a < shape.size(); ++a) {
    p.box[a] = spacing[a] * shape[a];
    s.particles *= static_cast<std::size_t>(shape[a]);
  }
  for (std::size_t i = 0; i < s.particles; ++i) {
    std::size_t rest = i;
    for (std::size_t a = 0; a < shape.size(); ++a) {
      const auto n = static_cast<std::size_t>(shape[a]);
      s.positions.push_back(((static_cast<double>(rest % n) + 0.5) / shape[a] - 0.5) * p.box[a]);
      rest /= n;
    }
    if (sizes == Sizes::additive) p.diameters.push_back(i == 0 ? 1 : smallest + 0.7 * (i % 7) / 7);
    if (sizes == Sizes::table) p.types.push_back(static_cast<std::int32_t>(i % 3));
  }
  if (sizes == Sizes::table) p.contacts = {0.7, 1.0, 0.5, 1.0, 0.6, 0.8, 0.5, 0.8, 0.4};
  return s;
}

}  // namespace manymove::test
