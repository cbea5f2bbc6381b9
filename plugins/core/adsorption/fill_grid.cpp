// SPDX-License-Identifier: BSD-3-Clause
#include "fill_grid.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "../runtime/parallel_for.h"

namespace manymove::adsorption {

void fill_grid(State& s, ThreadPool& pool, const Poll& poll) {
  if (!s.has_framework() || enter_shared_grid(s)) return;
  const auto kernels = best_level<GridKernels>(MANYMOVE_LEVELS);
  const FrameworkAtoms atoms = framework_atoms(s);
  const std::array<int, 3>& n = s.parameters.grid;
  const std::size_t values = s.grid_values();
  std::vector<double> energies(values * s.types()), potential(s.felt_charges ? values : 0);
  // A row of points along the first edge is an item.
  for_each_item(pool, n[1] * n[2], [&](int item, int thread) {
    if (thread == 0) poll();  // the calling thread
    std::vector<double> row(static_cast<std::size_t>(n[0]) * s.types());
    const std::size_t first = static_cast<std::size_t>(item) * n[0];
    kernels.fill_row(atoms, grid_row(s, item % n[1], item / n[1]), row.data(),
                     s.felt_charges ? potential.data() + first : nullptr);
    for (int t = 0; t < s.types(); ++t)
      std::copy_n(row.data() + static_cast<std::size_t>(t) * n[0], n[0],
                  energies.data() + static_cast<std::size_t>(t) * values + first);
  });
  finish_grid(s, std::move(energies), std::move(potential), poll);
}

}  // namespace manymove::adsorption
