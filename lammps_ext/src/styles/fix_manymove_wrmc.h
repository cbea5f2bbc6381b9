// SPDX-License-Identifier: GPL-2.0-or-later
// fix manymove/wrmc and manymove/wrmc/rigid: multi-proposal Monte Carlo of a group of atoms among
// all others, which are rigid; with the latter style the group consists of rigid molecules with
// charges. J. Kim, J. M. Rodgers, M. Athenes, B. Smit, J. Chem. Theory Comput. 7, 3208 (2011).
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/adsorption/engine.h"
#include "styles/fix_manymove_monte_carlo.h"

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

  struct PairLaw {
    int types[2];
    double epsilon, sigma;
  };

  // The law of an atom type, or null.
  static const Law* law_of(const std::vector<Law>& laws, int type);
  void parse(int first, int narg, char** arg);
  bool parse_of_molecules(const std::string& word, int left, char** arg, int& taken);
  void warn_of_laws() const;
  void check_laws(const std::vector<Law>& laws) const;
  void check_pairs() const;
  void describe_molecules(const std::vector<Particle>& moving);
  // The law of two types with the mixing rule, in LAMMPS' units, and in the engine's.
  Law law_between(const Law& a, const Law& b) const;
  manymove::adsorption::LennardJones mixed(const Law& a, const Law& b) const;
  std::uint64_t fingerprint() const;
  void make_engine();
  std::unique_ptr<manymove::adsorption::Engine> make_engine_at(const std::vector<Particle>& moving);
  auto translated(const std::vector<Particle>& atoms, const auto& call) const;
  std::pair<double, tagint> farthest(const std::vector<Particle>& rigid) const;
  bool in_place() const;
  std::string change(const std::vector<Particle>& rigid) const;
  void make_steps(std::vector<Particle>& atoms);
  std::vector<double> inward(const std::vector<Particle>& atoms) const;  // in the engine's unit
  void summarize(const manymove::adsorption::Snapshot& state);

  double temperature_, cutoff_, epsilon_ = 0, sigma_ = 0;
  double max_displacement_ = 0, spacing_ = 0;  // 0: from sigma
  std::vector<Law> framework_;
  // What manymove/wrmc/rigid needs:
  const bool of_molecules_;
  std::vector<Law> sites_;
  std::vector<PairLaw> pairs_;
  bool geometric_ = false, tail_ = false;
  int species_ = 1;                     // kinds of molecules
  double alpha_ = 0, wave_cutoff_ = 0;  // 0: from the cutoff
  double tolerance_ = 0;                // of the places of atoms in molecules
  std::unique_ptr<manymove::adsorption::RigidMolecules> molecules_;  // on rank 0
  int method_ = 3;                                                   // index into the names
  manymove::adsorption::Parameters parameters_;
  double length_ = 1, energy_ = 1;  // the engine's units over LAMMPS'
  manymove::adsorption::HostBox box_{};
  std::uint64_t fingerprint_ = 0;
  std::unique_ptr<manymove::adsorption::Engine> engine_;  // on rank 0
  std::vector<Particle> rigid_;                           // the same: atoms outside the group
  std::vector<double> results_;                           // the fix's vector, then the profile
};

}  // namespace LAMMPS_NS
