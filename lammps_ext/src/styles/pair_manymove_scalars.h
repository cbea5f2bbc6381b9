// SPDX-License-Identifier: GPL-2.0-or-later
// pair_style manymove/edpd: energy-conserving DPD, whose particles have temperatures; and
// pair_style manymove/tdpd: transport DPD, whose particles have concentrations of species.
#pragma once

#include <array>

#include "styles/pair_manymove_dpd.h"
#include "styles/scalars_of_atoms.h"

namespace LAMMPS_NS {

class PairManymoveScalars : public PairManymoveDPD {
 public:
  void settings(int narg, char** arg) override;
  void coeff(int narg, char** arg) override;
  void init_style() override;
  double init_one(int i, int j) override;
  double single(int i, int j, int itype, int jtype, double rsq, double factor_coul,
                double factor_lj, double& fforce) override;
  void* extract(const char* name, int& dim) override;
  manymove::dpd::PairTable table() override;
  manymove::dpd::ScalarKind scalars() const override { return kind_; }

 protected:
  PairManymoveScalars(class LAMMPS* lmp, manymove::dpd::ScalarKind kind);

 private:
  // Coefficients by pair of types. Three of each kind are those of the scalars, and four those of
  // the series in T - 1.
  enum Array {
    kCutoff,
    kConductance,
    kNoise = kConductance + manymove::dpd::kScalars,
    kExponent = kNoise + manymove::dpd::kScalars,
    kSeriesOfExponent = kExponent + manymove::dpd::kScalars,
    kSeriesOfConductance = kSeriesOfExponent + 4,
    kArrays = kSeriesOfConductance + 4
  };
  bool is_thermal() const { return kind_ == manymove::dpd::kTemperature; }
  void allocate() override;
  void write_coefficients(FILE* fp, int i, int j) override;
  std::vector<double**> more_coefficients() const override;
  bool are_possible(int i, int j) const override;
  bool is_noisy(int i, int j) const override;
  ScalarsOnHost scalars_on_host() override;
  void take_flux() override;
  void check_atoms() const;
  void check_cutoff(int i, int j) const;

  const manymove::dpd::ScalarKind kind_;
  std::array<double**, kArrays> value_{};
  ScalarArrays scalars_, flux_;
};

class PairManymoveEDPD : public PairManymoveScalars {
 public:
  explicit PairManymoveEDPD(class LAMMPS* lmp)
      : PairManymoveScalars(lmp, manymove::dpd::kTemperature) {}
};

class PairManymoveTDPD : public PairManymoveScalars {
 public:
  explicit PairManymoveTDPD(class LAMMPS* lmp)
      : PairManymoveScalars(lmp, manymove::dpd::kConcentrations) {}
};

}  // namespace LAMMPS_NS
