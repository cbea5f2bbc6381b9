// SPDX-License-Identifier: GPL-2.0-or-later
// bond_style manymove/harmonic: E = K (r - r0)^2.
#pragma once

#include "bond.h"

namespace LAMMPS_NS {

class BondManymoveHarmonic : public Bond {
 public:
  explicit BondManymoveHarmonic(class LAMMPS* lmp);
  ~BondManymoveHarmonic() override;

  void compute(int eflag, int vflag) override;
  void coeff(int narg, char** arg) override;
  double equilibrium_distance(int type) override;
  void write_restart(FILE* fp) override;
  void read_restart(FILE* fp) override;
  void write_data(FILE* fp) override;
  double single(int type, double rsq, int i, int j, double& fforce) override;
  void born_matrix(int type, double rsq, int i, int j, double& du, double& du2) override;
  void* extract(const char* name, int& dim) override;

 private:
  void allocate();

  double *k_ = nullptr, *r0_ = nullptr;
};

}  // namespace LAMMPS_NS
