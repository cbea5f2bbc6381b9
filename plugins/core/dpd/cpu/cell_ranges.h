// SPDX-License-Identifier: BSD-3-Clause
// Which particles are in each cell, for the resident engine on the CPU.
#pragma once

#include <vector>

#include "../../runtime/parallel_for.h"
#include "step_rows.h"

namespace manymove::dpd {

// key: of each particle in the order of cells, first `count` of the rank, then ghosts. Finds the
// cell of each and the ranges of each cell, of the rank's particles and of ghosts.
inline void find_cells(ThreadPool& pool, const Cells& cells, int count,
                       const std::vector<std::uint32_t>& key, std::vector<int>& cell,
                       std::vector<CellRange> (&range)[2]) {
  const int all = static_cast<int>(key.size());
  cell.resize(key.size());
  for_each_index(pool, all, [&](int i) { cell[i] = cell_of_key(cells, key[i]); });
  for (auto& each : range)
    each.assign(static_cast<std::size_t>(cells.here[0]) * cells.here[1] * cells.here[2], {0, 0});
  for_each_index(pool, all, [&](int i) {
    CellRange& of_cell = range[i < count ? 0 : 1][cell[i]];
    if (i == 0 || i == count || cell[i] != cell[i - 1]) of_cell.first = i;
    if (i == count - 1 || i == all - 1 || cell[i] != cell[i + 1]) of_cell.last = i + 1;
  });
}

}  // namespace manymove::dpd
