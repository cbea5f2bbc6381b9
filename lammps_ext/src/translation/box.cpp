// SPDX-License-Identifier: GPL-2.0-or-later
#include "translation/box.h"

#include "comm.h"
#include "domain.h"
#include "lammps.h"
#include "neighbor.h"
#include "update.h"

using namespace LAMMPS_NS;

void LAMMPS_NS::describe_box(LAMMPS* lmp, manymove::dpd::Settings& settings) {
  const Domain* domain = lmp->domain;
  for (int a = 0; a < 3; ++a) {
    settings.box.low[a] = domain->boxlo[a];
    settings.box.extent[a] = domain->prd[a];
    settings.box.periodic[a] = domain->periodicity[a] != 0 && (a < 2 || domain->dimension == 3);
  }
  settings.box.tilt[0] = domain->xy;
  settings.box.tilt[1] = domain->xz;
  settings.box.tilt[2] = domain->yz;
  settings.skin = lmp->neighbor->skin;
  settings.time_step = lmp->update->dt;
  const Comm* comm = lmp->comm;
  if (comm->nprocs == 1) return;
  const double* const split[3] = {comm->xsplit, comm->ysplit, comm->zsplit};
  const int* along = comm->procgrid;
  for (int a = 0; a < 3; ++a) settings.grid.cut[a].assign(split[a], split[a] + along[a] + 1);
  for (int z = 0; z < along[2]; ++z)
    for (int y = 0; y < along[1]; ++y)
      for (int x = 0; x < along[0]; ++x) settings.grid.rank.push_back(comm->grid2proc[x][y][z]);
}
