// SPDX-License-Identifier: GPL-2.0-or-later
// fix manymove/coulomb: every so many steps, sweeps of Monte Carlo over charged hard spheres with
// all pairs of Coulomb interactions; see docs/theory/coulomb.md.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/coulomb/engine.h"
#include "fix_manymove_monte_carlo.h"

namespace LAMMPS_NS {

class FixManymoveCoulomb : public FixMonteCarlo {
 public:
  FixManymoveCoulomb(class LAMMPS* lmp, int narg, char** arg);

  void init() override;
  void pre_exchange() override;
  double compute_vector(int n) override;
  void write_restart(FILE* file) override;
  void restart(char* buffer) override;

 private:
  void make_sweeps(std::vector<Particle>& ions);
  void follow(const std::vector<Particle>& ions, const std::vector<double>& position);
  void check_box() const;

  manymove::coulomb::Parameters parameters_;
  double radius_ = 0;
  std::vector<double> diameter_;  // by atom type, from 1

  // On rank 0:
  std::unique_ptr<manymove::coulomb::Engine> engine_;
  std::vector<double> valence_, sizes_;  // that the engine was made with
  std::vector<double> left_;             // positions as the engine left them, by tag
  double made_box_[3] = {0, 0, 0};
  std::uint64_t past_sweeps_ = 0, past_trials_ = 0, past_accepted_ = 0;  // of earlier engines
};

}  // namespace LAMMPS_NS
