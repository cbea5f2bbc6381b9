// SPDX-License-Identifier: GPL-2.0-or-later
#include "styles/pair_manymove_dpd_ext.h"

#include <cmath>
#include <cstring>

#include "atom.h"
#include "comm.h"
#include "error.h"
#include "update.h"

using namespace LAMMPS_NS;

PairManymoveDPDTstat::PairManymoveDPDTstat(LAMMPS* lmp) : PairManymoveDPD(lmp) {
  style_ = "manymove/dpd/tstat";
  thermostat_ = true;
}

PairManymoveDPDExt::PairManymoveDPDExt(LAMMPS* lmp) : PairManymoveDPD(lmp) {
  style_ = "manymove/dpd/ext";
}

PairManymoveDPDExtTstat::PairManymoveDPDExtTstat(LAMMPS* lmp) : PairManymoveDPDExt(lmp) {
  style_ = "manymove/dpd/ext/tstat";
  thermostat_ = true;
}

manymove::dpd::PairTable PairManymoveDPDExt::table() {
  manymove::dpd::PairTable table = PairManymoveDPD::table();
  table.transverse = true;
  const double over_root = is_moving() ? 1.0 / std::sqrt(update->dt) : 0.0;
  const int n = atom->ntypes + 1;
  for (int i = 1; i < n; ++i)
    for (int j = 1; j < n; ++j) {
      if (!is_active(i, j)) continue;
      manymove::dpd::PairCoefficients& c = coefficients_of(i, j);
      c.transverse_gamma = is_moving() ? transverse_gamma_[i][j] : 0.0;
      c.transverse_sigma = transverse_sigma_[i][j] * over_root;
      c.transverse_exponent = transverse_exponent_[i][j];
    }
  return table;
}

// ---- settings ----

void PairManymoveDPDExt::allocate() {
  PairManymoveDPD::allocate();
  create(transverse_gamma_, "pair:transverse_gamma");
  create(transverse_sigma_, "pair:transverse_sigma");
  create(transverse_exponent_, "pair:transverse_exponent");
}

// As of manymove/dpd, but each pair_coeff has its exponents.
void PairManymoveDPDExt::settings(int narg, char** arg) {
  for (int k = thermostat_ ? 4 : 3; k < narg; k += 2)
    if (strcmp(arg[k], "weight_exponent") == 0)
      error->all(FLERR, "Pair style {}: unknown keyword {} (each pair_coeff sets ws and wsT)",
                 style_, arg[k]);
  PairManymoveDPD::settings(narg, arg);
}

// pair_coeff i j [a] gamma gamma_perp ws wsT [cutoff], with a unless it is a thermostat
void PairManymoveDPDExt::coeff(int narg, char** arg) {
  const int first = thermostat_ ? 2 : 3;  // gamma
  refuse_name_of_style(narg, arg);
  if (narg < first + 4)
    utils::missing_cmd_args(FLERR,
                            fmt::format("pair_coeff i j {}gamma gamma_perp ws wsT ({})",
                                        thermostat_ ? "" : "a ", style_),
                            error);
  if (narg > first + 5)
    error->all(FLERR, "Pair coeff {}: unexpected argument {}", style_, arg[first + 5]);
  const double gamma = not_negative("Pair coeff", "gamma_perp", arg[first + 1]);
  const double exponent = not_negative("Pair coeff", "wsT", arg[first + 3]);
  char keyword[] = "weight_exponent";
  std::vector<char*> of_dpd(arg, arg + first + 1);
  if (narg > first + 4) of_dpd.push_back(arg[first + 4]);
  of_dpd.insert(of_dpd.end(), {keyword, arg[first + 2]});
  PairManymoveDPD::coeff(static_cast<int>(of_dpd.size()), of_dpd.data());
  for (const auto& [i, j] : types_in(arg)) {
    transverse_gamma_[i][j] = gamma;
    transverse_exponent_[i][j] = exponent;
  }
}

double PairManymoveDPDExt::init_one(int i, int j) {
  transverse_sigma_[i][j] = sigma_of(transverse_gamma_[i][j]);
  return PairManymoveDPD::init_one(i, j);
}

bool PairManymoveDPDExt::is_noisy(int i, int j) const {
  return PairManymoveDPD::is_noisy(i, j) || sigma_of(transverse_gamma_[i][j]) > 0;
}

void* PairManymoveDPDExt::extract(const char* name, int& dim) {
  dim = 2;
  if (strcmp(name, "gamma_perp") == 0) return transverse_gamma_;
  return PairManymoveDPD::extract(name, dim);
}

// ---- restart and data files ----

std::vector<double**> PairManymoveDPDExt::more_coefficients() const {
  return {transverse_gamma_, transverse_exponent_};
}

bool PairManymoveDPDExt::are_possible(int i, int j) const {
  for (const double value : {transverse_gamma_[i][j], transverse_exponent_[i][j]})
    if (!(value >= 0) || !std::isfinite(value)) return false;
  return true;
}

void PairManymoveDPDExt::write_coefficients(FILE* fp, int i, int j) {
  if (!thermostat_) fprintf(fp, " %.15g", a_[i][j]);
  fprintf(fp, " %.15g %.15g %.15g %.15g %.15g\n", gamma_[i][j], transverse_gamma_[i][j],
          exponent_[i][j], transverse_exponent_[i][j], cut_[i][j]);
}
