// SPDX-License-Identifier: GPL-2.0-or-later
#include "styles/bond_manymove_harmonic.h"

#include <cmath>
#include <cstring>

#include "atom.h"
#include "comm.h"
#include "error.h"
#include "force.h"
#include "memory.h"
#include "neighbor.h"

using namespace LAMMPS_NS;

BondManymoveHarmonic::BondManymoveHarmonic(LAMMPS* lmp) : Bond(lmp) { born_matrix_enable = 1; }

BondManymoveHarmonic::~BondManymoveHarmonic() {
  if (!allocated || copymode) return;
  memory->destroy(setflag);
  memory->destroy(k_);
  memory->destroy(r0_);
}

void BondManymoveHarmonic::compute(int eflag, int vflag) {
  ev_init(eflag, vflag);
  const bool newton = force->newton_bond;
  double** x = atom->x;
  double** f = atom->f;
  for (int n = 0; n < neighbor->nbondlist; ++n) {
    const int i = neighbor->bondlist[n][0], j = neighbor->bondlist[n][1],
              type = neighbor->bondlist[n][2];
    const double d[3] = {x[i][0] - x[j][0], x[i][1] - x[j][1], x[i][2] - x[j][2]};
    double over_distance;
    const double energy =
        single(type, d[0] * d[0] + d[1] * d[1] + d[2] * d[2], i, j, over_distance);
    for (int a = 0; a < 3; ++a) {
      if (newton || i < atom->nlocal) f[i][a] += d[a] * over_distance;
      if (newton || j < atom->nlocal) f[j][a] -= d[a] * over_distance;
    }
    if (evflag)
      ev_tally(i, j, atom->nlocal, newton, eflag_either ? energy : 0.0, over_distance, d[0], d[1],
               d[2]);
  }
}

void BondManymoveHarmonic::allocate() {
  allocated = 1;
  const int n = atom->nbondtypes + 1;
  memory->create(k_, n, "bond:K");
  memory->create(r0_, n, "bond:r0");
  memory->create(setflag, n, "bond:setflag");
  for (int type = 0; type < n; ++type) setflag[type] = 0;
}

// bond_coeff type K r0
void BondManymoveHarmonic::coeff(int narg, char** arg) {
  if (narg < 3) utils::missing_cmd_args(FLERR, "bond_coeff (manymove/harmonic)", error);
  if (narg > 3) error->all(FLERR, "Bond coeff manymove/harmonic: unexpected argument {}", arg[3]);
  if (!allocated) allocate();
  int low, high;
  utils::bounds(FLERR, arg[0], 1, atom->nbondtypes, low, high, error);
  const double k = utils::numeric(FLERR, arg[1], false, lmp);
  const double r0 = utils::numeric(FLERR, arg[2], false, lmp);
  if (!(k >= 0))
    error->all(FLERR, "Bond coeff manymove/harmonic: K {} must not be negative", arg[1]);
  if (!(r0 >= 0))
    error->all(FLERR, "Bond coeff manymove/harmonic: r0 {} must not be negative", arg[2]);
  for (int type = low; type <= high; ++type) {
    k_[type] = k;
    r0_[type] = r0;
    setflag[type] = 1;
  }
}

double BondManymoveHarmonic::equilibrium_distance(int type) { return r0_[type]; }

void BondManymoveHarmonic::write_restart(FILE* fp) {
  fwrite(&k_[1], sizeof(double), atom->nbondtypes, fp);
  fwrite(&r0_[1], sizeof(double), atom->nbondtypes, fp);
}

void BondManymoveHarmonic::read_restart(FILE* fp) {
  allocate();
  for (double* values : {k_, r0_}) {
    if (comm->me == 0)
      utils::sfread(FLERR, &values[1], sizeof(double), atom->nbondtypes, fp, nullptr, error);
    MPI_Bcast(&values[1], atom->nbondtypes, MPI_DOUBLE, 0, world);
  }
  for (int type = 1; type <= atom->nbondtypes; ++type) {
    if (!(k_[type] >= 0 && r0_[type] >= 0))
      error->all(FLERR, "Bond style manymove/harmonic: the restart file is damaged (type {})",
                 type);
    setflag[type] = 1;
  }
}

void BondManymoveHarmonic::write_data(FILE* fp) {
  for (int type = 1; type <= atom->nbondtypes; ++type)
    fprintf(fp, "%d %.15g %.15g\n", type, k_[type], r0_[type]);
}

double BondManymoveHarmonic::single(int type, double rsq, int, int, double& fforce) {
  const double r = std::sqrt(rsq), stretch = r - r0_[type];
  fforce = r > 0 ? -2.0 * k_[type] * stretch / r : 0.0;
  return k_[type] * stretch * stretch;
}

void BondManymoveHarmonic::born_matrix(int type, double rsq, int, int, double& du, double& du2) {
  du = 2.0 * k_[type] * (std::sqrt(rsq) - r0_[type]);
  du2 = 2.0 * k_[type];
}

void* BondManymoveHarmonic::extract(const char* name, int& dim) {
  dim = 1;
  if (strcmp(name, "k") == 0) return k_;
  if (strcmp(name, "r0") == 0) return r0_;
  return nullptr;
}
