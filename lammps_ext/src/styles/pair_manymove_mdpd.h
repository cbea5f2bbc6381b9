// SPDX-License-Identifier: GPL-2.0-or-later
// pair_style manymove/mdpd: many-body dissipative particle dynamics. It adds a repulsion that grows
// with the local densities to the forces of manymove/dpd.
#pragma once

#include <vector>

#include "atom.h"
#include "styles/pair_manymove_dpd.h"

namespace LAMMPS_NS {

class PairManymoveMDPD : public PairManymoveDPD {
 public:
  explicit PairManymoveMDPD(class LAMMPS* lmp);

  void coeff(int narg, char** arg) override;
  void init_style() override;
  void init_list(int id, class NeighList* neighbors) override;
  double init_one(int i, int j) override;
  double memory_usage() override;
  int pack_forward_comm(int n, int* list, double* buffer, int pbc_flag, int* pbc) override;
  void unpack_forward_comm(int n, int first, double* buffer) override;
  manymove::dpd::PairTable table() override;
  bool has_densities_of_atoms() const override { return atom->rho_flag != 0; }

 private:
  void allocate() override;
  void write_coefficients(FILE* fp, int i, int j) override;
  std::vector<double**> more_coefficients() const override;
  bool are_possible(int i, int j) const override;
  const double* find_densities() override;
  void check_same_for_all();

  double **b_ = nullptr, **density_cutoff_ = nullptr;
  manymove::dpd::ManyBodyCoefficients many_body_;  // of all pairs
  class NeighList* all_neighbors_ = nullptr;       // a full list
  std::vector<double> densities_;
  bool sending_densities_ = false;  // otherwise images, as manymove/dpd does
};

}  // namespace LAMMPS_NS
