// SPDX-License-Identifier: GPL-2.0-or-later
#include "translation/readers.h"

#include <algorithm>
#include <set>
#include <string>

#include "compute.h"
#include "fix.h"
#include "input.h"
#include "library.h"
#include "modify.h"
#include "neigh_list.h"
#include "neighbor.h"
#include "translation/ave_chunk.h"
#include "variable.h"

using namespace LAMMPS_NS;

namespace {

// Computes and fixes known to look at a rank's own atoms only. What is not here may read ghost
// atoms or neighbor lists, which are then made on the host whenever it may look.
const std::set<std::string> kOwnAtomsOnly{
    // computes
    "bond", "angle", "dihedral", "improper", "centroid/stress/atom", "chunk/atom",
    "chunk/spread/atom", "com", "com/chunk", "count/type", "displace/atom", "edpd/temp/atom",
    "erotate/rigid", "global/atom", "gyration", "gyration/chunk", "heat/flux", "ke", "ke/atom",
    "ke/rigid", "momentum", "msd", "msd/chunk", "pair", "pe", "pe/atom", "pressure",
    "property/atom", "property/chunk", "reduce", "reduce/chunk", "reduce/region", "slice",
    "stress/atom", "tdpd/cc/atom", "temp", "temp/chunk", "temp/com", "temp/deform", "temp/partial",
    "temp/profile", "temp/ramp", "temp/region", "vacf", "vcm/chunk",
    // fixes
    "addforce", "ave/atom", "ave/chunk", "ave/correlate", "ave/histo", "ave/time", "dt/reset",
    "halt", "manymove/call", "manymove/wall", "momentum", "nve", "print", "store/state",
    "temp/berendsen", "temp/csvr", "temp/rescale", "vector"};

}  // namespace

void Readers::find(const std::vector<Fix*>& end_of_step) {
  for (int k = 0; k < neighbor->nlist; ++k)
    if (neighbor->lists[k]->requestor_type != NeighList::PAIR) reads_neighbors_ = true;
  for (int k = 0; k < modify->ncompute; ++k)
    if (!kOwnAtomsOnly.count(modify->compute[k]->style)) reads_neighbors_ = true;
  for (const Fix* fix : end_of_step)
    if (!kOwnAtomsOnly.count(fix->style)) reads_neighbors_ = true;

  const std::set<std::string> of_velocities{"temp", "pressure", "pe", "ke"};
  reads_positions_ = has_others_ = false;
  of_computes_ = kSums;
  for (int k = 0; k < modify->ncompute; ++k) {
    const std::string style = modify->compute[k]->style;
    if (!of_velocities.count(style)) reads_positions_ = true;
    if (!of_velocities.count(style) && style != "chunk/atom") has_others_ = true;
    if (modify->compute[k]->igroup != 0) of_computes_ = kVelocities;
  }
  Variable* variables = input->variable;
  const int count = lammps_id_count(lmp, "variable");  // its own name for it has changed
  for (int k = 0; k < count; ++k)
    if (variables->equalstyle(k) || variables->atomstyle(k) || variables->vectorstyle(k))
      reads_positions_ = has_others_ = true;
}

// If there are body forces, LAMMPS adds them to the forces, and some depend on positions. A column
// of a fix may be a sum over forces; other columns that are not known read velocities.
unsigned Readers::of_thermo(bool has_body_forces) const {
  if (reads_positions_ || has_body_forces) return kEverything;
  const std::set<std::string> of_sums{"Step",    "Time",    "CPU",     "Atoms",  "PotEng",
                                      "E_vdwl",  "E_coul",  "E_long",  "E_pair", "E_bond",
                                      "E_angle", "E_dihed", "E_impro", "E_mol",  "Volume",
                                      "Density", "Lx",      "Ly",      "Lz"};
  const std::set<std::string> of_temperatures{
      "Temp", "Press", "KinEng", "TotEng", "Enthalpy", "Pxx", "Pyy", "Pzz", "Pxy", "Pxz", "Pyz"};
  const int columns = *static_cast<const int*>(lammps_last_thermo(lmp, "num", 0));
  unsigned what = 0;
  for (int k = 0; k < columns; ++k) {
    const std::string name = static_cast<const char*>(lammps_last_thermo(lmp, "keyword", k));
    if (name == "Fmax" || name == "Fnorm" || name.rfind("f_", 0) == 0) what |= kForces;
    const bool of_compute = of_temperatures.count(name) || name.rfind("c_", 0) == 0;
    if (!of_sums.count(name)) what |= of_compute ? of_computes_ : kVelocities;
  }
  return what;
}

// If all computes are temperatures, energies and pressures, and no variable reads particles, fix
// ave/time averages nothing else. Values of fixes are those of thermostats or of earlier averages,
// unless there are body forces.
unsigned Readers::of(Fix* fix, bool has_body_forces) const {
  const std::string style = fix->style;
  if (style == "ave/time") return reads_positions_ || has_body_forces ? kEverything : of_computes_;
  if (style == "ave/chunk")
    return has_others_ ? kEverything : AveChunk(lmp, fix).reads(has_body_forces);
  if (style == "momentum") return kVelocities | kPositions | kImages;
  const bool thermostat = style == "temp/berendsen" || style == "temp/csld" ||
                          style == "temp/csvr" || style == "temp/rescale";
  return thermostat && !reads_positions_ ? kVelocities : kEverything;
}

// Between its samples fix ave/chunk does nothing.
bigint Readers::next_step(Fix* fix, bigint step) {
  const bigint every = std::max(fix->nevery, 1), next = (step / every + 1) * every;
  if (fix->style != std::string("ave/chunk")) return next;
  return std::max(next, AveChunk(nullptr, fix).next_sample());
}

bool Readers::only_reads(const Fix* fix) {
  const std::set<std::string> readers{"ave/atom",  "ave/chunk", "ave/correlate",
                                      "ave/histo", "ave/time",  "vector"};
  return readers.count(fix->style) != 0;
}
