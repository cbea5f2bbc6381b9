// SPDX-License-Identifier: BSD-3-Clause
// What an engine prepares for the electrostatic forces of its settings, in the memory of the host.
#pragma once

#include <array>
#include <vector>

#include "../engine.h"
#include "model.h"

namespace manymove::dpd {

struct ChargePlan {
  explicit ChargePlan(const Settings& settings);
  // For these charges of all ranks. Throws std::invalid_argument for a net charge on a mesh, which
  // nothing would neutralize.
  void take(const std::vector<double>& charges);

  // The sums of a state; pairs and waves are sums over charges and waves, in the units of the law.
  EnergySum of_pairs(const ChargeSums& sums) const;
  EnergySum of_mesh(const WaveSums& waves, std::int64_t dipole) const;

  int cells() const { return law.cells[0] * law.cells[1] * law.cells[2]; }

  ChargeLaw law{};    // without tables
  ChargeMesh mesh{};  // without arrays
  std::vector<Cubic> force, energy;
  std::vector<double> influence;
  std::vector<Wave> twiddle[3];

 private:
  double cutoff_, splitting_;
  bool slab_ = false;
  double largest_force_ = 0, largest_energy_ = 0;  // of two unit charges
  double squares_ = 0;                             // sum of q^2
  std::array<double, 3> frame_;                    // edges
};

}  // namespace manymove::dpd
