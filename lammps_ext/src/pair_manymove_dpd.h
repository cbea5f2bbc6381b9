// SPDX-License-Identifier: GPL-2.0-or-later
// pair_style manymove/dpd: dissipative particle dynamics with any weight exponent.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/dpd/pairs.h"
#include "pair.h"

namespace LAMMPS_NS {

class PairManymoveDPD : public Pair {
 public:
  explicit PairManymoveDPD(class LAMMPS* lmp);
  ~PairManymoveDPD() override;

  void compute(int eflag, int vflag) override;
  void settings(int narg, char** arg) override;
  void coeff(int narg, char** arg) override;
  void init_style() override;
  double init_one(int i, int j) override;
  void setup() override;
  void write_restart(FILE* fp) override;
  void read_restart(FILE* fp) override;
  void write_restart_settings(FILE* fp) override;
  void read_restart_settings(FILE* fp) override;
  void write_data(FILE* fp) override;
  void write_data_all(FILE* fp) override;
  double single(int i, int j, int itype, int jtype, double rsq, double factor_coul,
                double factor_lj, double& fforce) override;
  void* extract(const char* name, int& dim) override;
  double memory_usage() override;

  // The law of this step, valid until the next call.
  manymove::dpd::PairTable table();
  std::uint64_t seed() const { return static_cast<std::uint64_t>(seed_); }

 private:
  void allocate();
  void require_room() const;
  void add_forces(const manymove::dpd::PairTally* tally);
  const manymove::dpd::PairCoefficients* fill_table();
  const std::uint32_t* tags();

  double temperature_ = 0, cutoff_ = 0, weight_exponent_ = 1;
  int seed_ = 0;
  int double_precision_ = 0;
  int threads_ = 1;
  double **a_ = nullptr, **gamma_ = nullptr, **sigma_ = nullptr, **cut_ = nullptr,
         **exponent_ = nullptr;
  double largest_cutoff_ = 0;
  std::unique_ptr<manymove::dpd::PairForces> forces_;
  std::vector<manymove::dpd::PairCoefficients> table_;
  std::vector<std::uint32_t> short_tags_;  // where LAMMPS' tags have 64 bits
};

}  // namespace LAMMPS_NS
