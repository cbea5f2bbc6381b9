// SPDX-License-Identifier: GPL-2.0-or-later
#include "translation/charge_styles.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "atom.h"
#include "fix.h"
#include "force.h"
#include "kspace.h"
#include "neighbor.h"
#include "pair.h"
#include "styles/pair_manymove_dpd_coul_slater_long.h"
#include "translation/served_pairs.h"
#include "translation/style_values.h"

using namespace LAMMPS_NS;
using manymove::dpd::Settings;

namespace {

// Gives access to what kspace_modify has set.
struct OfKSpace : KSpace {
  using KSpace::kewaldflag;
};

}  // namespace

ChargeStyles::ChargeStyles(LAMMPS* lmp, const ServedPairs& pairs)
    : Pointers(lmp),
      coulomb_(pairs.charges()),
      combined_(dynamic_cast<const PairManymoveDPDCoulSlaterLong*>(coulomb_)) {
  if (!any()) return;
  if (combined_) {
    style_ = combined_->style();
    long_range_ = true;
    cutoff_ = combined_->coulomb_cutoff();
    smearing_ = combined_->smearing();
  } else {
    style_ = without_suffix(force->pair_match_ptr(coulomb_));
    long_range_ = style_ == "coul/slater/long";
    // Restart files begin with the cutoff, and lambda or kappa if there is one.
    RestartBytes written([this](std::FILE* file) { coulomb_->write_restart_settings(file); });
    const std::vector<double> number = written.next<double>(2);
    cutoff_ = number[0];
    if (is_smeared()) smearing_ = number[1];
    if (style_ == "coul/debye") screening_ = number[1];
  }
  find_charges();
}

std::string ChargeStyles::unserved() const {
  if (!any()) return force->kspace ? "kspace_style " + std::string(force->kspace_style) : "";
  std::string text;
  const auto add = [&](const std::string& what) {
    if (!what.empty()) text += (text.empty() ? "" : ", ") + what;
  };
  add(why_not_pairs());
  add(why_not_mesh());
  // LAMMPS leaves the charges of these pairs out of its lists; an engine leaves out other forces.
  if (neighbor->nex_type > 0 || neighbor->nex_group > 0 || neighbor->nex_mol > 0)
    add("neigh_modify exclude with charges");
  // What LAMMPS warns of, and neutralizes by a background.
  if (std::fabs(net_charge_) > 1e-5 && long_range_) add("a net charge");
  return text;
}

// Single atoms are inserted without charges, molecules with those of their templates.
bool ChargeStyles::may_change_by(const Fix* fix) const {
  const std::string style = fix->style;
  if (style == "deposit") return any() && atom->nmolecule > 0;
  if (style != "evaporate" || !long_range_) return false;
  for (int i = 0; i < atom->nlocal; ++i)
    if ((atom->mask[i] & fix->groupbit) && atom->q[i] != 0) return true;
  return false;
}

// All pairs of types with charges have the same law.
std::string ChargeStyles::why_not_pairs() const {
  for (int i = 1; i <= atom->ntypes; ++i)
    for (int j = i; j <= atom->ntypes; ++j) {
      if (largest_[i] == 0 || largest_[j] == 0) continue;
      const std::string why = why_not_pair(i, j);
      if (!why.empty()) return "pair_style " + style_ + why;
    }
  if (screening_ < 0) return "pair_style " + style_ + " with a negative kappa";
  return smearing_ > 0 || !is_smeared() ? "" : "pair_style " + style_ + " without a decay length";
}

std::string ChargeStyles::why_not_pair(int i, int j) const {
  const char* const lacks = " without coefficients of some charges";
  if (combined_) return combined_->has_charges(i, j) ? "" : lacks;
  if (!coulomb_->setflag[i][j]) return lacks;
  int dimension = 0;
  const auto* const* const scale = static_cast<double**>(coulomb_->extract("scale", dimension));
  if (!scale || dimension != 2) return " of another kind";
  if (scale[i][j] != 1) return " with scaled pairs";
  if (std::fabs(coulomb_->cutsq[i][j] - cutoff_ * cutoff_) > 1e-12 * cutoff_ * cutoff_)
    return " with several cutoffs";
  return "";
}

void ChargeStyles::find_charges() {
  double own = 0;
  std::vector<double> largest(static_cast<std::size_t>(atom->ntypes) + 1, 0.0);
  for (int i = 0; i < atom->nlocal; ++i) {
    own += atom->q[i];
    double& of_type = largest[static_cast<std::size_t>(atom->type[i])];
    of_type = std::max(of_type, std::fabs(atom->q[i]));
  }
  largest_.resize(largest.size());
  MPI_Allreduce(&own, &net_charge_, 1, MPI_DOUBLE, MPI_SUM, world);
  MPI_Allreduce(largest.data(), largest_.data(), atom->ntypes + 1, MPI_DOUBLE, MPI_MAX, world);
  for (int i = 1; !long_range_ && i <= atom->ntypes; ++i)
    if (largest_[i] > 0 && coulomb_->setflag[i][i]) cutoff_ = std::sqrt(coulomb_->cutsq[i][i]);
}

std::string ChargeStyles::why_not_mesh() const {
  const KSpace* const kspace = force->kspace;
  if (!kspace) return "";
  const std::string style = force->kspace_style;
  const bool mesh = style == "pppm";
  if ((!mesh && style != "ewald") || !long_range_)
    return "kspace_style " + style + (long_range_ ? " (instead: kspace_style pppm)" : "");
  if (!kspace->compute_flag) return "kspace_modify compute no";
  if (!mesh && kspace->*(&OfKSpace::kewaldflag)) return "kspace_modify kmax/ewald";
  if (mesh && kspace->differentiation_flag)
    return "kspace_modify diff ad (instead: kspace_modify diff ik)";
  if (kspace->slabflag > 1) return "kspace_modify slab nozforce and ew2d";
  if (kspace->wireflag) return "kspace_modify wire";
  return "";
}

void ChargeStyles::describe(Settings& settings) const {
  if (!any()) return;
  manymove::dpd::ChargeSettings& charges = settings.charges;
  charges.cutoff = cutoff_;
  charges.smearing = smearing_;
  charges.screening = screening_;
  charges.coupling = force->qqrd2e;
  std::copy_n(force->special_coul + 1, 3, charges.special + 1);
  if (!long_range_) return;
  const KSpace& kspace = *force->kspace;
  charges.splitting = kspace.g_ewald;
  if (kspace.slabflag == 1) charges.slab = kspace.slab_volfactor;
  if (std::string(force->kspace_style) == "ewald") {
    // Beyond it exp(-k^2 / 4 alpha^2) is below a thousandth of the accuracy, relative to the force
    // of the largest charges at the distance 1.
    const double largest = *std::max_element(largest_.begin(), largest_.end()),
                 force_of_two =
                     std::max(kspace.two_charge_force, force->qqrd2e * largest * largest),
                 least = 1e-3 * kspace.accuracy / force_of_two;
    charges.largest_wave_number = 2 * kspace.g_ewald * std::sqrt(-std::log(std::min(least, 1e-3)));
    return;
  }
  charges.mesh[0] = kspace.nx_pppm;
  charges.mesh[1] = kspace.ny_pppm;
  charges.mesh[2] = kspace.nz_pppm;
  charges.order = kspace.order;
}

void ChargeStyles::set_sums(const manymove::dpd::EnergyAndVirial& sums) const {
  if (!any()) return;
  coulomb_->eng_coul = force->pair->eng_coul = sums.charges.energy;
  for (int a = 0; a < 6; ++a) force->pair->virial[a] += sums.charges.virial[a];
  if (!force->kspace) return;
  force->kspace->energy = sums.mesh.energy;
  std::copy_n(sums.mesh.virial, 6, force->kspace->virial);
}
