// SPDX-License-Identifier: BSD-3-Clause
// The grids of the framework, filled by the cores.
#pragma once

#include "../runtime/parallel_for.h"
#include "molecules/state.h"

namespace manymove::adsorption {

inline void fill_grid(State& s, ThreadPool& pool) {
  const auto kernels = best_level<GridKernels>(MANYMOVE_LEVELS);
  const std::array<int, 3>& n = s.parameters.grid;
  const std::size_t values = s.grid_values(), species = s.parameters.species.size();
  std::vector<double> energies(species * values);
  std::vector<std::vector<std::int32_t>> near(pool.size());
  for (auto& list : near) list.resize(s.images.size() + 1);
  for (std::size_t b = 0; b < species; ++b) {
    const GridSum g = grid_sum(s, static_cast<int>(b));
    for_each_item(pool, n[1] * n[2], [&](int item, int thread) {
      kernels.fill_row(g, item % n[1], item / n[1], near[thread].data(),
                       energies.data() + b * values + static_cast<std::size_t>(item) * n[0]);
    });
  }
  finish_grid(s, std::move(energies));
}

inline void fill_grid(MoleculeState& s, ThreadPool& pool) {
  if (!s.has_framework()) return;
  const auto kernels = best_level<SiteGridKernels>(MANYMOVE_LEVELS);
  const std::array<int, 3>& n = s.parameters.grid;
  const std::size_t values = s.grid_values();
  std::vector<double> energies(values * s.types()), potential(s.felt_charges ? values : 0);
  for_each_item(pool, n[1] * n[2], [&](int item, int) {
    std::vector<double> row(static_cast<std::size_t>(n[0]) * s.types());
    const std::size_t first = static_cast<std::size_t>(item) * n[0];
    kernels.fill_row(grid_row(s, item % n[1], item / n[1]), row.data(),
                     s.felt_charges ? potential.data() + first : nullptr);
    for (int t = 0; t < s.types(); ++t)
      std::copy_n(row.data() + static_cast<std::size_t>(t) * n[0], n[0],
                  energies.data() + static_cast<std::size_t>(t) * values + first);
  });
  finish_grid(s, std::move(energies), std::move(potential));
}

}  // namespace manymove::adsorption
