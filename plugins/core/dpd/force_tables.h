// SPDX-License-Identifier: BSD-3-Clause
// Forces and energies between equidistant nodes, as LAMMPS' pair_style table and bond_style table
// have them (linear and spline).
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "../runtime/macros.h"

namespace manymove::dpd {

// curvature_*: the second derivative times a sixth of the squared spacing; 0 for linear tables.
struct TableNode {
  double force, energy, curvature_force, curvature_energy;
};

// The table of a pair has -dE/dr / r and E as functions of the squared distance. The table of a
// bond has -dE/dr and E as functions of its length.
struct ForceTable {
  double low = 0, spacing = 1;  // the argument of the first node, and from one node to the next
  std::vector<TableNode> node;

  bool is_valid() const {
    return node.size() >= 2 && std::isfinite(low) && spacing > 0 && std::isfinite(spacing) &&
           std::all_of(node.begin(), node.end(), [](const TableNode& n) {
             return std::isfinite(n.force + n.energy + n.curvature_force + n.curvature_energy);
           });
  }
};

// Force and energy between two nodes; part: 0 at `left`, 1 at `right`.
struct Tabulated {
  double force, energy;
};
MM_HD Tabulated between(const TableNode& left, const TableNode& right, double part) {
  const double rest = 1 - part;
  const double a = rest * fused(rest, rest, -1.0), b = part * fused(part, part, -1.0);
  const auto value = [&](double from, double to, double bent_from, double bent_to) {
    return fused(rest, from, fused(part, to, fused(a, bent_from, b * bent_to)));
  };
  return {value(left.force, right.force, left.curvature_force, right.curvature_force),
          value(left.energy, right.energy, left.curvature_energy, right.curvature_energy)};
}

// Force and energy of a table; at: distance from the first node in spacings, from 0 to `intervals`.
MM_HD Tabulated tabulated(const TableNode* node, int intervals, double at) {
  const int k = at < intervals - 1 ? static_cast<int>(at) : intervals - 1;
  return between(node[k], node[k + 1], at - k);
}

}  // namespace manymove::dpd
