// SPDX-License-Identifier: GPL-2.0-or-later
// pair_style manymove/dpd/ext: DPD with friction and noise also across the line of centers; and the
// thermostats manymove/dpd/tstat and manymove/dpd/ext/tstat without a conservative force.
#pragma once

#include "styles/pair_manymove_dpd.h"

namespace LAMMPS_NS {

class PairManymoveDPDTstat : public PairManymoveDPD {
 public:
  explicit PairManymoveDPDTstat(class LAMMPS* lmp);
};

class PairManymoveDPDExt : public PairManymoveDPD {
 public:
  explicit PairManymoveDPDExt(class LAMMPS* lmp);

  void settings(int narg, char** arg) override;
  void coeff(int narg, char** arg) override;
  double init_one(int i, int j) override;
  void* extract(const char* name, int& dim) override;
  manymove::dpd::PairTable table() override;

 private:
  void allocate() override;
  void write_coefficients(FILE* fp, int i, int j) override;
  std::vector<double**> more_coefficients() const override;
  bool are_possible(int i, int j) const override;
  bool is_noisy(int i, int j) const override;

  double **transverse_gamma_ = nullptr, **transverse_sigma_ = nullptr,
         **transverse_exponent_ = nullptr;
};

class PairManymoveDPDExtTstat : public PairManymoveDPDExt {
 public:
  explicit PairManymoveDPDExtTstat(class LAMMPS* lmp);
};

}  // namespace LAMMPS_NS
