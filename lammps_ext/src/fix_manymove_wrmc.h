// SPDX-License-Identifier: GPL-2.0-or-later
// fix manymove/wrmc: multi-proposal Monte Carlo of a group of atoms among all others, which are
// rigid. J. Kim, J. M. Rodgers, M. Athenes, B. Smit, J. Chem. Theory Comput. 7, 3208 (2011).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/adsorption/engine.h"
#include "fix_manymove_monte_carlo.h"

namespace LAMMPS_NS {

class FixManymoveWRMC : public FixMonteCarlo {
 public:
  FixManymoveWRMC(class LAMMPS* lmp, int narg, char** arg);

  void init() override;
  void setup_pre_exchange() override;
  void pre_exchange() override;
  double compute_scalar() override;
  double compute_vector(int which) override;
  double compute_array(int row, int column) override;
  double memory_usage() override;

 private:
  struct Law {
    int type;
    double epsilon, sigma;
  };

  void parse(int narg, char** arg);
  std::uint64_t fingerprint() const;
  void make_engine();
  std::unique_ptr<manymove::adsorption::Engine> make_engine_at(const std::vector<Particle>& moving);
  template <class Call>
  auto translated(const std::vector<Particle>& atoms, const Call& call) const;
  std::string change(const std::vector<Particle>& rigid) const;
  void make_steps(std::vector<Particle>& atoms);
  std::vector<double> inward(const std::vector<Particle>& atoms) const;  // in the engine's unit
  void summarize(const manymove::adsorption::Snapshot& state);

  double temperature_, cutoff_, epsilon_, sigma_, max_displacement_, spacing_;
  std::vector<Law> framework_;
  int method_ = 3;  // index into the names
  manymove::adsorption::Parameters parameters_;
  double length_ = 1, energy_ = 1;  // the engine's units over LAMMPS'
  std::uint64_t fingerprint_ = 0;
  std::unique_ptr<manymove::adsorption::Engine> engine_;  // on rank 0
  std::vector<Particle> rigid_;                           // the same: atoms outside the group
  std::vector<double> results_;                           // the fix's vector, then the profile
};

}  // namespace LAMMPS_NS
