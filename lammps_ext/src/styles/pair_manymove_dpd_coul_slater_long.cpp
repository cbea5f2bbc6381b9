// SPDX-License-Identifier: GPL-2.0-or-later
#include "styles/pair_manymove_dpd_coul_slater_long.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <string>

#include "atom.h"
#include "comm.h"
#include "error.h"
#include "force.h"
#include "kspace.h"
#include "neigh_list.h"
#include "neighbor.h"

using namespace LAMMPS_NS;

PairManymoveDPDCoulSlaterLong::PairManymoveDPDCoulSlaterLong(LAMMPS* lmp) : PairManymoveDPD(lmp) {
  style_ = "manymove/dpd/coul/slater/long";
  ewaldflag = pppmflag = 1;
}

// ---- forces ----

// Force over distance of two charges with this product, and their energy: what the mesh lacks, less
// what the factor of special neighbors leaves out.
double PairManymoveDPDCoulSlaterLong::force_of_charges(double charges, double squared,
                                                       double factor, double& energy) const {
  constexpr double kTwoOverRootOfPi = 1.12837916709551257390;
  const double r = std::sqrt(squared), x = r / smearing_, y = force->kspace->g_ewald * r,
               decay = std::exp(-2 * x), prefactor = force->qqrd2e * charges / r,
               left_out = 1 - factor, slater = (1 + 2 * x * (1 + x)) * decay,
               near = (1 + x) * decay;
  energy = prefactor * (std::erfc(y) - near - left_out * (1 - near));
  return prefactor *
         (std::erfc(y) + kTwoOverRootOfPi * y * std::exp(-y * y) - slater -
          left_out * (1 - slater)) /
         squared;
}

void PairManymoveDPDCoulSlaterLong::add_charges() {
  if (list->occasional) neighbor->build_one(list);
  const double* const q = atom->q;
  const double squared_cutoff = coulomb_cutoff_ * coulomb_cutoff_;
  for (int n = 0; n < list->inum; ++n) {
    const int i = list->ilist[n];
    if (q[i] == 0) continue;
    for (int k = 0; k < list->numneigh[i]; ++k) {
      const int entry = list->firstneigh[i][k], j = entry & NEIGHMASK;
      const double d[3] = {atom->x[i][0] - atom->x[j][0], atom->x[i][1] - atom->x[j][1],
                           atom->x[i][2] - atom->x[j][2]};
      const double squared = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
      if (q[j] == 0 || !(squared < squared_cutoff) || squared == 0 ||
          !has_charges(atom->type[i], atom->type[j]))
        continue;
      double energy;
      const double f =
          force_of_charges(q[i] * q[j], squared, force->special_coul[entry >> SBBITS & 3], energy);
      for (int a = 0; a < 3; ++a) atom->f[i][a] += f * d[a];
      if (force->newton_pair || j < atom->nlocal)
        for (int a = 0; a < 3; ++a) atom->f[j][a] -= f * d[a];
      if (evflag)
        ev_tally(i, j, atom->nlocal, force->newton_pair, 0.0, energy, f, d[0], d[1], d[2]);
    }
  }
}

// ---- settings ----

void PairManymoveDPDCoulSlaterLong::allocate() {
  PairManymoveDPD::allocate();
  create(charged_, "pair:charged");
}

// pair_style manymove/dpd/coul/slater/long T cutoff seed lambda cutoff_coul [weight_exponent s]
// [precision mixed|double] [threads n]
void PairManymoveDPDCoulSlaterLong::settings(int narg, char** arg) {
  if (narg < 5) utils::missing_cmd_args(FLERR, "pair_style " + style_, error);
  smearing_ = positive("Pair style", "lambda", arg[3]);
  coulomb_cutoff_ = positive("Pair style", "cutoff of charges", arg[4]);
  std::vector<char*> of_dpd(arg, arg + 3);
  of_dpd.insert(of_dpd.end(), arg + 5, arg + narg);
  PairManymoveDPD::settings(static_cast<int>(of_dpd.size()), of_dpd.data());
}

// pair_coeff i j a gamma [yes|no] [cutoff] [weight_exponent s]; yes: between charges, too
void PairManymoveDPDCoulSlaterLong::coeff(int narg, char** arg) {
  static const std::set<std::string> words{"yes", "no", "on", "off", "true", "false"};
  const bool given = narg > 4 && words.count(arg[4]) > 0;
  const double charged = given && utils::logical(FLERR, arg[4], false, lmp) ? 1 : 0;
  std::vector<char*> of_dpd(arg, arg + narg);
  if (given) of_dpd.erase(of_dpd.begin() + 4);
  PairManymoveDPD::coeff(static_cast<int>(of_dpd.size()), of_dpd.data());
  for (const auto& [i, j] : types_in(arg)) charged_[i][j] = charged;
}

void PairManymoveDPDCoulSlaterLong::init_style() {
  if (!force->kspace) error->all(FLERR, "Pair style {} needs a kspace_style", style_);
  PairManymoveDPD::init_style();
}

double PairManymoveDPDCoulSlaterLong::init_one(int i, int j) {
  const double cutoff = PairManymoveDPD::init_one(i, j);
  return has_charges(i, j) ? std::max(cutoff, coulomb_cutoff_) : cutoff;
}

// ---- restart and data files ----

void PairManymoveDPDCoulSlaterLong::write_restart_settings(FILE* fp) {
  PairManymoveDPD::write_restart_settings(fp);
  for (const double value : {smearing_, coulomb_cutoff_}) fwrite(&value, sizeof value, 1, fp);
}

void PairManymoveDPDCoulSlaterLong::read_restart_settings(FILE* fp) {
  PairManymoveDPD::read_restart_settings(fp);
  for (double* value : {&smearing_, &coulomb_cutoff_}) {
    if (comm->me == 0) utils::sfread(FLERR, value, sizeof *value, 1, fp, nullptr, error);
    MPI_Bcast(value, 1, MPI_DOUBLE, 0, world);
    if (!(*value > 0) || !std::isfinite(*value))
      error->all(FLERR, "Pair style {}: the restart file is damaged", style_);
  }
}

bool PairManymoveDPDCoulSlaterLong::are_possible(int i, int j) const {
  return charged_[i][j] == 0 || charged_[i][j] == 1;
}

void PairManymoveDPDCoulSlaterLong::write_coefficients(FILE* fp, int i, int j) {
  fprintf(fp, " %.15g %.15g %s %.15g weight_exponent %.15g\n", a_[i][j], gamma_[i][j],
          has_charges(i, j) ? "yes" : "no", cut_[i][j], exponent_[i][j]);
}

// ---- what other commands ask ----

double PairManymoveDPDCoulSlaterLong::single(int i, int j, int itype, int jtype, double rsq,
                                             double factor_coul, double factor_lj, double& fforce) {
  double energy = 0;
  fforce = 0;
  if (rsq < cut_[itype][jtype] * cut_[itype][jtype])
    energy = PairManymoveDPD::single(i, j, itype, jtype, rsq, factor_coul, factor_lj, fforce);
  const double charges = atom->q[i] * atom->q[j];
  if (charges == 0 || !has_charges(itype, jtype) || !(rsq < coulomb_cutoff_ * coulomb_cutoff_))
    return energy;
  double of_charges;
  fforce += force_of_charges(charges, rsq, factor_coul, of_charges);
  return energy + of_charges;
}

void* PairManymoveDPDCoulSlaterLong::extract(const char* name, int& dim) {
  dim = 0;
  if (strcmp(name, "cut_coul") == 0) return &coulomb_cutoff_;
  if (strcmp(name, "lamda") == 0) return &smearing_;
  return PairManymoveDPD::extract(name, dim);
}
