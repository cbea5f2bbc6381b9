// SPDX-License-Identifier: GPL-2.0-or-later
// pair_style manymove/dpd/coul/slater/long: the forces of manymove/dpd and the real-space part of
// smeared charges, of which a KSpace style computes the rest.
#pragma once

#include <vector>

#include "styles/pair_manymove_dpd.h"

namespace LAMMPS_NS {

class PairManymoveDPDCoulSlaterLong : public PairManymoveDPD {
 public:
  explicit PairManymoveDPDCoulSlaterLong(class LAMMPS* lmp);

  void settings(int narg, char** arg) override;
  void coeff(int narg, char** arg) override;
  void init_style() override;
  double init_one(int i, int j) override;
  void write_restart_settings(FILE* fp) override;
  void read_restart_settings(FILE* fp) override;
  double single(int i, int j, int itype, int jtype, double rsq, double factor_coul,
                double factor_lj, double& fforce) override;
  void* extract(const char* name, int& dim) override;

  double coulomb_cutoff() const { return coulomb_cutoff_; }
  double smearing() const { return smearing_; }
  // Whether charges of these types have forces.
  bool has_charges(int i, int j) const { return charged_[i][j] != 0; }

 private:
  void allocate() override;
  void add_charges() override;
  double force_of_charges(double charges, double squared, double factor, double& energy) const;
  void write_coefficients(FILE* fp, int i, int j) override;
  std::vector<double**> more_coefficients() const override { return {charged_}; }
  bool are_possible(int i, int j) const override;

  double** charged_ = nullptr;  // 0 or 1
  double smearing_ = 0, coulomb_cutoff_ = 0;
};

}  // namespace LAMMPS_NS
