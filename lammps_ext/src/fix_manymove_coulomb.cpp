// SPDX-License-Identifier: GPL-2.0-or-later
#include "fix_manymove_coulomb.h"

#include <mpi.h>

#include <algorithm>
#include <cmath>

#include "atom.h"
#include "comm.h"
#include "domain.h"
#include "error.h"
#include "force.h"
#include "update.h"

using namespace LAMMPS_NS;

namespace {
constexpr int kRestart = 3;  // numbers in a restart file
}

// fix ID all manymove/coulomb N sweeps seed bjerrum diameter... [keyword value ...]
FixManymoveCoulomb::FixManymoveCoulomb(LAMMPS* lmp, int narg, char** arg)
    : FixMonteCarlo(lmp, narg, arg, 7 + lmp->atom->ntypes, "sweeps") {
  const int types = atom->ntypes;
  if (igroup != 0) error->all(FLERR, "{}: the group must be all", name_);
  if (!atom->q_flag) error->all(FLERR, "{} needs atom_style charge", name_);
  if (atom->molecular != Atom::ATOMIC)
    error->all(FLERR, "{} moves single atoms: atom styles with bonds are refused", name_);
  parameters_.seed = seed_;
  parameters_.bjerrum_length = positive("bjerrum", arg[6]);
  diameter_.assign(types + 1, 0);
  for (int type = 1; type <= types; ++type) diameter_[type] = positive("diameter", arg[6 + type]);

  for (int k = 7 + types; k < narg; k += 2) {
    const std::string key = arg[k];
    if (key != "radius" && key != "displacement" && key != "precision" && key != "threads" &&
        key != "device")
      error->all(FLERR, "{}: unknown keyword {} (radius, displacement, precision, threads, device)",
                 name_, key);
    if (k + 1 == narg) utils::missing_cmd_args(FLERR, "fix manymove/coulomb " + key, error);
    if (take(key, arg[k + 1])) continue;
    const std::string value = arg[k + 1];
    if (key == "radius") {
      radius_ = positive("radius", arg[k + 1]);
    } else if (key == "displacement") {
      parameters_.max_displacement = positive("displacement", arg[k + 1]);
    } else {
      if (value != "mixed" && value != "double")
        error->all(FLERR, "{}: precision {} must be mixed or double", name_, value);
      parameters_.double_precision = value == "double";
    }
  }
  parameters_.periodic = radius_ == 0;
  parameters_.radius = radius_;

  next_reneighbor = update->ntimestep + nevery - update->ntimestep % nevery;
  time_depend = 1;
  restart_global = 1;
  size_vector = 4;
  extvector = 0;
}

void FixManymoveCoulomb::init() {
  check_surroundings();
  check_box();
}

void FixManymoveCoulomb::check_box() const {
  for (int axis = 0; axis < 3; ++axis) {
    if (radius_ == 0 && !domain->periodicity[axis])
      error->all(FLERR, "{}: the box is not periodic along {}; give the radius of a spherical cell",
                 name_, "xyz"[axis]);
    if (2 * radius_ > domain->prd[axis])
      error->all(FLERR, "{}: a cell of radius {} does not fit into the box", name_, radius_);
  }
}

// The engine for these ions at these positions (relative to the centre of the box).
void FixManymoveCoulomb::follow(const std::vector<Particle>& ions,
                                const std::vector<double>& position) {
  std::vector<double> valence, sizes;
  for (const Particle& ion : ions) {
    valence.push_back(static_cast<float>(ion.charge));
    sizes.push_back(diameter_[static_cast<int>(ion.type)]);
  }
  if (engine_ && valence == valence_ && sizes == sizes_ &&
      std::equal(domain->prd, domain->prd + 3, made_box_)) {
    if (position != left_) engine_->set_positions(position.data());
    return;
  }
  if (engine_) {
    const auto counters = engine_->counters();
    past_sweeps_ = counters.sweeps;
    past_trials_ += counters.trial_moves;
    past_accepted_ += counters.accepted_moves;
    engine_.reset();
  }
  parameters_.first_sweep = past_sweeps_;
  std::copy_n(domain->prd, 3, parameters_.box);
  const std::vector<std::int32_t> species(ions.size(), 0);
  engine_ = manymove::coulomb::make_engine(
      {position.data(), valence.data(), sizes.data(), species.data(), ions.size()}, parameters_,
      device_, threads_);
  valence_ = std::move(valence);
  sizes_ = std::move(sizes);
  std::copy_n(domain->prd, 3, made_box_);
}

void FixManymoveCoulomb::make_sweeps(std::vector<Particle>& ions) {
  std::vector<double> position(3 * ions.size());
  for (std::size_t i = 0; i < ions.size(); ++i) {
    for (int a = 0; a < 3; ++a) {
      const double edge = domain->prd[a];
      double x = ions[i].x[a] - 0.5 * (domain->boxlo[a] + domain->boxhi[a]);
      if (domain->periodicity[a]) x -= edge * std::nearbyint(x / edge);
      position[3 * i + a] = x;
    }
  }
  follow(ions, position);
  std::vector<double> before(position.size()), after(position.size());
  engine_->positions(before.data());
  engine_->run(count_);
  engine_->positions(after.data());
  left_ = position;
  for (std::size_t i = 0; i < ions.size(); ++i) {
    if (std::equal(&after[3 * i], &after[3 * i] + 3, &before[3 * i])) continue;
    ions[i].moved = 1;
    for (int a = 0; a < 3; ++a) {
      const double centre = 0.5 * (domain->boxlo[a] + domain->boxhi[a]);
      const double x = after[3 * i + a] + centre;
      ions[i].x[a] = std::clamp(x, domain->boxlo[a], std::nextafter(domain->boxhi[a], -1e300));
      left_[3 * i + a] = ions[i].x[a] - centre;
    }
  }
}

void FixManymoveCoulomb::pre_exchange() {
  if (next_reneighbor != update->ntimestep) return;
  next_reneighbor = update->ntimestep + nevery;
  check_box();
  std::vector<Particle> ions = gather(true);
  on_first_rank([&] { make_sweeps(ions); }, "ions counted from 0 by ID");
  leave(ions);
}

// 1: sweeps made, 2: trial moves, 3: accepted moves, 4: electrostatic energy in kT.
double FixManymoveCoulomb::compute_vector(int n) {
  double value = 0;
  if (comm->me == 0) {
    manymove::coulomb::Counters counters;
    counters.sweeps = past_sweeps_;
    if (engine_) counters = engine_->counters();
    if (n == 0) value = static_cast<double>(counters.sweeps);
    if (n == 1) value = static_cast<double>(past_trials_ + counters.trial_moves);
    if (n == 2) value = static_cast<double>(past_accepted_ + counters.accepted_moves);
    if (n == 3 && engine_) value = engine_->energy();
  }
  MPI_Bcast(&value, 1, MPI_DOUBLE, 0, world);
  return value;
}

// Sweeps and moves so far: random numbers go on where they were.
void FixManymoveCoulomb::write_restart(FILE* file) {
  if (comm->me != 0) return;
  manymove::coulomb::Counters counters;
  counters.sweeps = past_sweeps_;
  if (engine_) counters = engine_->counters();
  const double list[kRestart] = {static_cast<double>(counters.sweeps),
                                 static_cast<double>(past_trials_ + counters.trial_moves),
                                 static_cast<double>(past_accepted_ + counters.accepted_moves)};
  const int size = sizeof list;
  fwrite(&size, sizeof size, 1, file);
  fwrite(list, sizeof list, 1, file);
}

void FixManymoveCoulomb::restart(char* buffer) {
  double list[kRestart];
  std::copy_n(buffer, sizeof list, reinterpret_cast<char*>(list));
  for (const double count : list)
    if (!(count >= 0 && count < 0x1p63))
      error->all(FLERR, "{}: the restart file is damaged", name_);
  past_sweeps_ = static_cast<std::uint64_t>(list[0]);
  past_trials_ = static_cast<std::uint64_t>(list[1]);
  past_accepted_ = static_cast<std::uint64_t>(list[2]);
}
