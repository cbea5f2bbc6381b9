// SPDX-License-Identifier: GPL-2.0-or-later
#include "styles/pair_manymove_scalars.h"

#include <cmath>

#include "atom.h"
#include "error.h"
#include "update.h"

using namespace LAMMPS_NS;
using manymove::dpd::kScalars;

PairManymoveScalars::PairManymoveScalars(LAMMPS* lmp, manymove::dpd::ScalarKind kind)
    : PairManymoveDPD(lmp), kind_(kind) {
  style_ = is_thermal() ? "manymove/edpd" : "manymove/tdpd";
}

manymove::dpd::PairTable PairManymoveScalars::table() {
  manymove::dpd::PairTable table = PairManymoveDPD::table();
  table.scalars = kind_;
  const double moving = is_moving() ? 1 : 0,
               over_root = is_moving() ? 1.0 / std::sqrt(update->dt) : 0.0;
  const int n = atom->ntypes + 1;
  for (int i = 1; i < n; ++i)
    for (int j = 1; j < n; ++j) {
      if (!is_active(i, j)) continue;
      manymove::dpd::PairCoefficients& c = coefficients_of(i, j);
      if (is_thermal()) c.sigma = over_root;  // over the root of 2 gamma T
      manymove::dpd::ScalarCoefficients& s = c.scalars;
      const auto set = [&](double* to, int first, int count, double factor) {
        for (int k = 0; k < count; ++k)
          to[k] = factor * value_[static_cast<std::size_t>(first + k)][i][j];
      };
      s.inverse_cutoff = 1.0 / value_[kCutoff][i][j];
      set(s.conductance, kConductance, kScalars, moving);
      set(s.noise, kNoise, kScalars, over_root);
      set(s.weight_exponent, kExponent, kScalars, 0.5);
      set(s.series_of_exponent, kSeriesOfExponent, 4, 1);
      set(s.series_of_conductance, kSeriesOfConductance, 4, 1);
      s.inverse_mass = 0.5 / atom->mass[i] + 0.5 / atom->mass[j];
    }
  return table;
}

PairManymoveDPD::ScalarsOnHost PairManymoveScalars::scalars_on_host() {
  const int all = atom->nlocal + atom->nghost;
  read_scalars(*atom, all, false, scalars_);
  flux_.assign(static_cast<std::size_t>(all), {});
  return {pointer_to(scalars_), pointer_to(flux_)};
}

void PairManymoveScalars::take_flux() {
  for_each_scalar(*atom, atom->nlocal + atom->nghost, true, flux_,
                  [](double& theirs, double more) { theirs += more; });
}

// ---- settings ----

void PairManymoveScalars::allocate() {
  PairManymoveDPD::allocate();
  for (double**& array : value_) create(array, "pair:scalars");
}

// pair_style manymove/edpd cutoff seed, or manymove/tdpd T cutoff seed, and
// [precision mixed|double] [threads n]
void PairManymoveScalars::settings(int narg, char** arg) {
  const int count = is_thermal() ? 2 : 3;
  if (narg < count) utils::missing_cmd_args(FLERR, "pair_style " + style_, error);
  for (int k = count; k < narg; k += 2)
    if (const std::string keyword = arg[k]; keyword != "precision" && keyword != "threads")
      error->all(FLERR, "Pair style {}: unknown keyword {} (precision, threads)", style_, keyword);
  char zero[] = "0";
  std::vector<char*> of_dpd(arg, arg + narg);
  if (is_thermal()) of_dpd.insert(of_dpd.begin(), zero);
  PairManymoveDPD::settings(static_cast<int>(of_dpd.size()), of_dpd.data());
}

// pair_coeff i j a gamma power_f cutoff kappa power_T cutoff_T [power c1 c2 c3 c4]
// [kappa c1 c2 c3 c4], or a gamma power_f cutoff cutoff_C and for each species kappa epsilon power
void PairManymoveScalars::coeff(int narg, char** arg) {
  refuse_name_of_style(narg, arg);
  check_atoms();
  const int species = is_thermal() ? 1 : atom->cc_species,
            fixed = is_thermal() ? 9 : 7 + 3 * species;
  if (narg < fixed)
    utils::missing_cmd_args(
        FLERR,
        "pair_coeff (" + style_ + ") i j a gamma power_f cutoff " +
            (is_thermal() ? "kappa power_T cutoff_T" : "cutoff_C {kappa epsilon power}"),
        error);
  if (species > kScalars)
    error->all(FLERR, "Pair style {}: at most {} species, not {}", style_, kScalars, species);
  std::array<double, kArrays> value{};
  const auto set = [&](int array, const char* name, const char* text) {
    value[static_cast<std::size_t>(array)] = not_negative("Pair coeff", name, text);
  };
  value[kCutoff] =
      positive("Pair coeff", is_thermal() ? "cutoff_T" : "cutoff_C", arg[is_thermal() ? 8 : 6]);
  if (is_thermal()) {
    set(kConductance, "kappa", arg[6]);
    set(kExponent, "power_T", arg[7]);
    value[kNoise] = 1;
  }
  for (int k = 0; !is_thermal() && k < species; ++k) {
    set(kConductance + k, "kappa", arg[7 + 3 * k]);
    set(kNoise + k, "epsilon", arg[8 + 3 * k]);
    set(kExponent + k, "power", arg[9 + 3 * k]);
  }
  for (int next = fixed; next < narg; next += 5) {
    const std::string keyword = arg[next];
    if (!is_thermal() || (keyword != "power" && keyword != "kappa"))
      error->all(FLERR, "Pair coeff {}: unexpected argument {}", style_, keyword);
    if (next + 5 > narg)
      utils::missing_cmd_args(FLERR, "pair_coeff (" + style_ + ") " + keyword, error);
    for (int k = 0; k < 4; ++k) {
      const double each = utils::numeric(FLERR, arg[next + 1 + k], false, lmp);
      if (!std::isfinite(each))
        error->all(FLERR, "Pair coeff {}: {} {} must be finite", style_, keyword,
                   arg[next + 1 + k]);
      value[static_cast<std::size_t>(
          (keyword == "power" ? kSeriesOfExponent : kSeriesOfConductance) + k)] = each;
    }
  }
  char keyword[] = "weight_exponent";
  // The weight of friction is (1 - r / cutoff)^power_f, and that of noise its root.
  std::string exponent =
      fmt::format("{:.17g}", 0.5 * not_negative("Pair coeff", "power_f", arg[4]));
  char* of_dpd[] = {arg[0], arg[1], arg[2], arg[3], arg[5], keyword, exponent.data()};
  PairManymoveDPD::coeff(7, of_dpd);
  for (const auto& [i, j] : types_in(arg)) {
    for (std::size_t k = 0; k < value.size(); ++k) value_[k][i][j] = value[k];
    check_cutoff(i, j);
  }
}

void PairManymoveScalars::check_cutoff(int i, int j) const {
  if (value_[kCutoff][i][j] > cut_[i][j])
    error->all(FLERR,
               "Pair style {}: the cutoff {} of the exchange of types {} {} must not be larger "
               "than their cutoff {}",
               style_, value_[kCutoff][i][j], i, j, cut_[i][j]);
}

void PairManymoveScalars::check_atoms() const {
  if (!(is_thermal() ? atom->edpd_flag : atom->tdpd_flag))
    error->all(FLERR, "Pair style {} needs atom_style {}", style_, is_thermal() ? "edpd" : "tdpd");
}

void PairManymoveScalars::init_style() {
  check_atoms();
  if (atom->molecular) error->all(FLERR, "Pair style {} does not work with bonds", style_);
  if (atom->rmass) error->all(FLERR, "Pair style {} does not work with masses by atom", style_);
  PairManymoveDPD::init_style();
}

double PairManymoveScalars::init_one(int i, int j) {
  const double cutoff = PairManymoveDPD::init_one(i, j);
  check_cutoff(i, j);  // a second pair_style command gives all pairs its own cutoff
  return cutoff;
}

bool PairManymoveScalars::is_noisy(int i, int j) const {
  return is_thermal() ? gamma_[i][j] > 0 : PairManymoveDPD::is_noisy(i, j);
}

double PairManymoveScalars::single(int i, int j, int itype, int jtype, double rsq,
                                   double factor_coul, double factor_lj, double& fforce) {
  const double energy =
      PairManymoveDPD::single(i, j, itype, jtype, rsq, factor_coul, factor_lj, fforce);
  const double mean = is_thermal() ? 0.5 * (atom->edpd_temp[i] + atom->edpd_temp[j]) : 1;
  fforce *= mean;
  return energy * mean;
}

void* PairManymoveScalars::extract(const char* name, int& dim) {
  const std::string wanted = name;
  if (wanted == "kappa" && is_thermal()) {
    dim = 2;
    return value_[kConductance];
  }
  if (is_thermal() && wanted == "temperature") return nullptr;
  return PairManymoveDPD::extract(name, dim);
}

// ---- restart and data files ----

std::vector<double**> PairManymoveScalars::more_coefficients() const {
  return {value_.begin(), value_.end()};
}

bool PairManymoveScalars::are_possible(int i, int j) const {
  for (std::size_t k = 0; k < value_.size(); ++k) {
    const double each = value_[k][i][j];
    if (!std::isfinite(each) || (each < 0 && k < kSeriesOfExponent)) return false;
  }
  return value_[kCutoff][i][j] > 0 && value_[kCutoff][i][j] <= cut_[i][j];
}

void PairManymoveScalars::write_coefficients(FILE* fp, int i, int j) {
  const auto write = [&](double value) { fprintf(fp, " %.15g", value); };
  const auto of = [&](int array) { return value_[static_cast<std::size_t>(array)][i][j]; };
  for (const double value : {a_[i][j], gamma_[i][j], 2 * exponent_[i][j], cut_[i][j]}) write(value);
  if (is_thermal()) {
    for (const int array : {int(kConductance), int(kExponent), int(kCutoff)}) write(of(array));
    for (const int first : {int(kSeriesOfExponent), int(kSeriesOfConductance)}) {
      fprintf(fp, first == kSeriesOfExponent ? " power" : " kappa");
      for (int k = 0; k < 4; ++k) write(of(first + k));
    }
  } else {
    write(of(kCutoff));
    for (int k = 0; k < atom->cc_species; ++k)
      for (const int first : {int(kConductance), int(kNoise), int(kExponent)}) write(of(first + k));
  }
  fprintf(fp, "\n");
}
