// SPDX-License-Identifier: GPL-2.0-or-later
// fix manymove/coulomb: every so many steps, sweeps of Monte Carlo over charged hard spheres with
// all pairs of Coulomb interactions; see docs/theory/coulomb.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/coulomb/engine.h"
#include "styles/fix_manymove_monte_carlo.h"

namespace LAMMPS_NS {

class FixManymoveCoulomb : public FixMonteCarlo {
 public:
  FixManymoveCoulomb(class LAMMPS* lmp, int narg, char** arg);

  void init() override;
  void setup_pre_exchange() override;
  void pre_exchange() override;
  double compute_vector(int n) override;
  void write_restart(FILE* file) override;
  void restart(char* buffer) override;

 private:
  void make_sweeps(std::vector<Particle>& ions);
  void follow(const std::vector<Particle>& ions, const std::vector<double>& position);
  std::vector<double> centered(const std::vector<Particle>& ions) const;
  std::vector<std::int32_t> images_of(const std::vector<Particle>& ions) const;
  void check_box() const;
  void check_others() const;

  manymove::coulomb::Parameters parameters_;
  double radius_ = 0;
  std::vector<double> diameter_;  // by atom type, from 1

  std::vector<double> totals_ = std::vector<double>(3);  // sweeps, trial moves, accepted moves
  std::optional<double> energy_;  // of the engine's ions, once it is asked for

  // On the ranks that move atoms:
  std::unique_ptr<manymove::coulomb::Engine> engine_;
  std::vector<double> valence_, sizes_;   // that the engine was made with
  std::vector<std::int64_t> tags_;        // the same
  std::vector<double> left_;              // positions as the engine left them, by tag
  std::vector<std::int32_t> left_image_;  // with a vacuum around, the same
  double made_box_[3] = {0, 0, 0};
};

}  // namespace LAMMPS_NS
