// SPDX-License-Identifier: BSD-3-Clause
// The grids of the framework, filled by the cores for both engines.
#pragma once

#include "../../runtime/parallel_for.h"
#include "state.h"

namespace manymove::adsorption {

inline void fill_molecule_grid(MoleculeState& s, ThreadPool& pool) {
  if (!s.has_framework()) return;
  const auto kernels = best_level<MoleculeKernels<double>>(MANYMOVE_LEVELS);
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
  finish_molecule_grid(s, std::move(energies), std::move(potential));
}

}  // namespace manymove::adsorption
