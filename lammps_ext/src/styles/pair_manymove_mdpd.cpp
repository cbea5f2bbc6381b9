// SPDX-License-Identifier: GPL-2.0-or-later
#include "styles/pair_manymove_mdpd.h"

#include <algorithm>
#include <cmath>

#include "atom.h"
#include "comm.h"
#include "error.h"
#include "neigh_list.h"
#include "neigh_request.h"
#include "neighbor.h"

using namespace LAMMPS_NS;

namespace {

constexpr int kAllNeighbors = 1;  // id of the full list

}  // namespace

PairManymoveMDPD::PairManymoveMDPD(LAMMPS* lmp) : PairManymoveDPD(lmp) {
  style_ = "manymove/mdpd";
  single_enable = 0;  // two particles alone do not determine the densities
}

// ---- densities ----

const double* PairManymoveMDPD::find_densities() {
  if (all_neighbors_->occasional) neighbor->build_one(all_neighbors_);
  densities_.assign(static_cast<std::size_t>(atom->nlocal) + atom->nghost, 0.0);
  if (all_neighbors_->inum > 0) {
    manymove::dpd::Particles particles{};
    particles.owned = atom->nlocal;
    particles.position = reinterpret_cast<const double (*)[3]>(atom->x[0]);
    forces_->find_densities(table(), particles,
                            {all_neighbors_->inum, all_neighbors_->ilist, all_neighbors_->numneigh,
                             all_neighbors_->firstneigh},
                            densities_.data());
  }
  sending_densities_ = true;
  comm->forward_comm(this);
  sending_densities_ = false;
  if (atom->rho_flag) std::ranges::copy(densities_, atom->rho);
  return densities_.data();
}

int PairManymoveMDPD::pack_forward_comm(int n, int* list, double* buffer, int pbc_flag, int* pbc) {
  if (!sending_densities_)
    return PairManymoveDPD::pack_forward_comm(n, list, buffer, pbc_flag, pbc);
  for (int k = 0; k < n; ++k) buffer[k] = densities_[static_cast<std::size_t>(list[k])];
  return n;
}

void PairManymoveMDPD::unpack_forward_comm(int n, int first, double* buffer) {
  if (!sending_densities_) return PairManymoveDPD::unpack_forward_comm(n, first, buffer);
  std::copy_n(buffer, n, densities_.begin() + first);
}

manymove::dpd::PairTable PairManymoveMDPD::table() {
  manymove::dpd::PairTable table = PairManymoveDPD::table();
  table.many_body = many_body_;
  return table;
}

// ---- settings ----

void PairManymoveMDPD::allocate() {
  PairManymoveDPD::allocate();
  create(b_, "pair:b");
  create(density_cutoff_, "pair:density_cutoff");
}

// pair_coeff i j A B gamma cutoff density_cutoff [weight_exponent s]
void PairManymoveMDPD::coeff(int narg, char** arg) {
  refuse_name_of_style(narg, arg);
  if (narg < 7)
    utils::missing_cmd_args(FLERR, "pair_coeff i j A B gamma cutoff density_cutoff (manymove/mdpd)",
                            error);
  const double b = utils::numeric(FLERR, arg[3], false, lmp);
  const double cutoff = utils::numeric(FLERR, arg[5], false, lmp);
  const double density_cutoff = positive("Pair coeff", "density_cutoff", arg[6]);
  if (!std::isfinite(b)) error->all(FLERR, "Pair coeff manymove/mdpd: B {} must be finite", arg[3]);
  // U contains + B sum rho^2, which nothing else bounds from below.
  if (b < 0)
    error->all(FLERR,
               "Pair coeff manymove/mdpd: B {} must not be negative, because the energy would have "
               "no lower bound and the particles would collapse",
               arg[3]);
  if (density_cutoff > cutoff)
    error->all(FLERR,
               "Pair coeff manymove/mdpd: density_cutoff {} must not be larger than cutoff {}",
               arg[6], arg[5]);
  std::vector<char*> of_dpd{arg[0], arg[1], arg[2], arg[4], arg[5]};
  of_dpd.insert(of_dpd.end(), arg + 7, arg + narg);
  PairManymoveDPD::coeff(static_cast<int>(of_dpd.size()), of_dpd.data());
  for (const auto& [i, j] : types_in(arg)) {
    b_[i][j] = b;
    density_cutoff_[i][j] = density_cutoff;
  }
}

void PairManymoveMDPD::init_style() {
  PairManymoveDPD::init_style();
  check_same_for_all();
  int what = NeighConst::REQ_FULL;
  if (lists_on_demand_) what |= NeighConst::REQ_OCCASIONAL;
  neighbor->add_request(this, what)->set_id(kAllNeighbors);
}

void PairManymoveMDPD::check_same_for_all() {
  int first[2] = {0, 0};
  for (int i = 1; i <= atom->ntypes; ++i)
    for (int j = i; j <= atom->ntypes; ++j) {
      if (!setflag[i][j]) continue;
      if (first[0] == 0) {
        first[0] = i, first[1] = j;
        many_body_ = {b_[i][j], density_cutoff_[i][j]};
      }
      const auto check = [&](const char* what, double value, double other) {
        if (value == other) return;
        error->all(FLERR,
                   "Pair style manymove/mdpd: {} is {} for types {} {} and {} for types {} {}; it "
                   "must be the same for all types, because otherwise the force is not the "
                   "gradient of an energy (P. B. Warren, Phys. Rev. E 87, 045303)",
                   what, other, first[0], first[1], value, i, j);
      };
      check("B", b_[i][j], many_body_.b);
      check("density_cutoff", density_cutoff_[i][j], many_body_.cutoff);
    }
}

void PairManymoveMDPD::init_list(int id, NeighList* neighbors) {
  if (id == kAllNeighbors)
    all_neighbors_ = neighbors;
  else
    PairManymoveDPD::init_list(id, neighbors);
}

double PairManymoveMDPD::init_one(int i, int j) {
  const double cutoff = PairManymoveDPD::init_one(i, j);
  // A second pair_style command gives all pairs its own cutoff.
  if (density_cutoff_[i][j] > cutoff)
    error->all(FLERR,
               "Pair style manymove/mdpd: density_cutoff {} of types {} {} must not be larger than "
               "cutoff {}",
               density_cutoff_[i][j], i, j, cutoff);
  return cutoff;
}

// ---- restart and data files ----

std::vector<double**> PairManymoveMDPD::more_coefficients() const { return {b_, density_cutoff_}; }

bool PairManymoveMDPD::are_possible(int i, int j) const {
  return std::isfinite(b_[i][j]) && b_[i][j] >= 0 && density_cutoff_[i][j] > 0 &&
         density_cutoff_[i][j] <= cut_[i][j];
}

void PairManymoveMDPD::write_coefficients(FILE* fp, int i, int j) {
  fprintf(fp, " %.15g %.15g %.15g %.15g %.15g weight_exponent %.15g\n", a_[i][j], b_[i][j],
          gamma_[i][j], cut_[i][j], density_cutoff_[i][j], exponent_[i][j]);
}

double PairManymoveMDPD::memory_usage() {
  return PairManymoveDPD::memory_usage() +
         static_cast<double>(densities_.capacity() * sizeof(double));
}
