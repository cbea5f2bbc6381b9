// SPDX-License-Identifier: GPL-2.0-or-later
#include "fix_coulomb.h"

#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <exception>

#include "atom.h"
#include "comm.h"
#include "core/common/devices.h"
#include "domain.h"
#include "error.h"
#include "force.h"
#include "update.h"

using namespace LAMMPS_NS;
using namespace FixConst;

namespace {
constexpr int kRestart = 3;  // numbers in a restart file
}

// Doubles only, so that MPI moves it as it is.
struct FixManymoveCoulomb::Ion {
  double tag, x[3], charge, diameter, moved;
};

// fix ID all manymove/coulomb N sweeps seed bjerrum diameter... [keyword value ...]
FixManymoveCoulomb::FixManymoveCoulomb(LAMMPS* lmp, int narg, char** arg) : Fix(lmp, narg, arg) {
  const int types = atom->ntypes;
  if (narg < 7 + types) utils::missing_cmd_args(FLERR, "fix manymove/coulomb", error);
  if (igroup != 0) error->all(FLERR, "Fix manymove/coulomb: the group must be all");
  if (!atom->q_flag) error->all(FLERR, "Fix manymove/coulomb needs atom_style charge");
  if (!atom->tag_enable) error->all(FLERR, "Fix manymove/coulomb needs atom IDs");
  if (atom->molecular != Atom::ATOMIC)
    error->all(FLERR,
               "Fix manymove/coulomb moves single atoms: atom styles with bonds are refused");
  const auto positive = [&](const char* name, const char* text) {
    const double value = utils::numeric(FLERR, text, false, lmp);
    if (!(value > 0) || !std::isfinite(value))
      error->all(FLERR, "Fix manymove/coulomb: {} {} must be positive", name, text);
    return value;
  };
  nevery = utils::inumeric(FLERR, arg[3], false, lmp);
  if (nevery < 1) error->all(FLERR, "Fix manymove/coulomb: N {} must be positive", arg[3]);
  sweeps_ = utils::inumeric(FLERR, arg[4], false, lmp);
  if (sweeps_ < 1) error->all(FLERR, "Fix manymove/coulomb: sweeps {} must be positive", arg[4]);
  const int seed = utils::inumeric(FLERR, arg[5], false, lmp);
  if (seed < 1) error->all(FLERR, "Fix manymove/coulomb: seed {} must be positive", arg[5]);
  parameters_.seed = static_cast<std::uint64_t>(seed);
  parameters_.bjerrum_length = positive("bjerrum", arg[6]);
  diameter_.assign(types + 1, 0);
  for (int type = 1; type <= types; ++type) diameter_[type] = positive("diameter", arg[6 + type]);

  for (int k = 7 + types; k < narg; k += 2) {
    const std::string key = arg[k];
    if (key != "radius" && key != "displacement" && key != "precision" && key != "threads" &&
        key != "device")
      error->all(FLERR,
                 "Fix manymove/coulomb: unknown keyword {} (radius, displacement, precision, "
                 "threads, device)",
                 key);
    if (k + 1 == narg) utils::missing_cmd_args(FLERR, "fix manymove/coulomb " + key, error);
    const std::string value = arg[k + 1];
    if (key == "radius") {
      radius_ = positive("radius", arg[k + 1]);
    } else if (key == "displacement") {
      parameters_.max_displacement = positive("displacement", arg[k + 1]);
    } else if (key == "precision") {
      if (value != "mixed" && value != "double")
        error->all(FLERR, "Fix manymove/coulomb: precision {} must be mixed or double", value);
      parameters_.double_precision = value == "double";
    } else if (key == "threads") {
      threads_ = utils::inumeric(FLERR, arg[k + 1], false, lmp);
      if (threads_ < 1)
        error->all(FLERR, "Fix manymove/coulomb: threads {} must be positive", value);
    } else {
      device_ = value;
    }
  }
  if (device_ == "auto") device_ = manymove::cuda_devices().empty() ? "cpu" : "cuda:0";
  parameters_.periodic = radius_ == 0;
  parameters_.radius = radius_;

  // Reneighboring at these steps: atoms migrate, ghosts and lists are made anew.
  force_reneighbor = 1;
  next_reneighbor = update->ntimestep + nevery - update->ntimestep % nevery;
  time_depend = 1;
  restart_global = 1;
  vector_flag = 1;
  size_vector = 4;
  global_freq = 1;
  extvector = 0;
}

int FixManymoveCoulomb::setmask() { return PRE_EXCHANGE; }

void FixManymoveCoulomb::init() {
  if (utils::strmatch(update->integrate_style, "^respa"))
    error->all(FLERR, "Fix manymove/coulomb does not work with run_style respa");
  if (update->whichflag == 2) error->all(FLERR, "Fix manymove/coulomb does not work with minimize");
  if (comm->nprocs > 1 && comm->style != Comm::BRICK)
    error->all(FLERR,
               "Fix manymove/coulomb: with comm_style tiled atoms cannot migrate as far as they "
               "move; use comm_style brick");
  for (int axis = 0; axis < 3; ++axis) {
    if (comm->procgrid[axis] > 3)
      error->all(FLERR,
                 "Fix manymove/coulomb: there are {} processors along {}; LAMMPS' exchange reaches "
                 "all of at most 3 (processors command)",
                 comm->procgrid[axis], "xyz"[axis]);
  }
  check_box();
}

void FixManymoveCoulomb::check_box() const {
  if (domain->triclinic)
    error->all(FLERR, "Fix manymove/coulomb does not work with triclinic boxes");
  if (domain->dimension != 3) error->all(FLERR, "Fix manymove/coulomb needs three dimensions");
  for (int axis = 0; axis < 3; ++axis) {
    if (radius_ == 0 && !domain->periodicity[axis])
      error->all(FLERR,
                 "Fix manymove/coulomb: the box is not periodic along {}; give the radius of a "
                 "spherical cell",
                 "xyz"[axis]);
    if (2 * radius_ > domain->prd[axis])
      error->all(FLERR, "Fix manymove/coulomb: a cell of radius {} does not fit into the box",
                 radius_);
  }
}

// All ions, by tag, on rank 0.
std::vector<FixManymoveCoulomb::Ion> FixManymoveCoulomb::gather() const {
  std::vector<Ion> mine(atom->nlocal);
  for (int i = 0; i < atom->nlocal; ++i) {
    Ion& ion = mine[i];
    ion.tag = static_cast<double>(atom->tag[i]);
    std::copy_n(atom->x[i], 3, ion.x);
    ion.charge = static_cast<float>(atom->q[i]);
    ion.diameter = diameter_[atom->type[i]];
    ion.moved = 0;
  }
  constexpr int kNumbers = sizeof(Ion) / sizeof(double);
  std::vector<int> count(comm->nprocs), first(comm->nprocs);
  int number = kNumbers * atom->nlocal;
  MPI_Gather(&number, 1, MPI_INT, count.data(), 1, MPI_INT, 0, world);
  for (int rank = 1; rank < comm->nprocs; ++rank) first[rank] = first[rank - 1] + count[rank - 1];
  std::vector<Ion> all(comm->me == 0 ? (first.back() + count.back()) / kNumbers : 0);
  MPI_Gatherv(mine.data(), number, MPI_DOUBLE, all.data(), count.data(), first.data(), MPI_DOUBLE,
              0, world);
  std::sort(all.begin(), all.end(), [](const Ion& a, const Ion& b) { return a.tag < b.tag; });
  return all;
}

// The engine for these ions at these positions (relative to the centre of the box).
void FixManymoveCoulomb::follow(const std::vector<Ion>& ions, const std::vector<double>& position) {
  std::vector<double> valence, sizes;
  for (const Ion& ion : ions) {
    valence.push_back(ion.charge);
    sizes.push_back(ion.diameter);
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

void FixManymoveCoulomb::make_sweeps(std::vector<Ion>& ions) {
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
  engine_->run(sweeps_);
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

// New positions and images of this rank's atoms.
void FixManymoveCoulomb::scatter(const std::vector<Ion>& ions) {
  for (int i = 0; i < atom->nlocal; ++i) {
    const auto tag = static_cast<double>(atom->tag[i]);
    const auto at =
        std::lower_bound(ions.begin(), ions.end(), tag,
                         [](const Ion& ion, double wanted) { return ion.tag < wanted; });
    if (at == ions.end() || at->tag != tag || at->moved == 0) continue;
    const Ion& ion = *at;
    imageint image[3] = {(atom->image[i] & IMGMASK) - IMGMAX,
                         (atom->image[i] >> IMGBITS & IMGMASK) - IMGMAX,
                         (atom->image[i] >> IMG2BITS) - IMGMAX};
    for (int a = 0; a < 3; ++a) {
      // Who left on one side and came in on the other has changed its image.
      if (domain->periodicity[a])
        image[a] -=
            static_cast<imageint>(std::nearbyint((ion.x[a] - atom->x[i][a]) / domain->prd[a]));
      atom->x[i][a] = ion.x[a];
    }
    atom->image[i] = (image[0] + IMGMAX & IMGMASK) | (image[1] + IMGMAX & IMGMASK) << IMGBITS |
                     (image[2] + IMGMAX & IMGMASK) << IMG2BITS;
  }
}

void FixManymoveCoulomb::pre_exchange() {
  if (next_reneighbor != update->ntimestep) return;
  next_reneighbor = update->ntimestep + nevery;
  check_box();
  std::vector<Ion> ions = gather();
  std::string failure;
  if (comm->me == 0) {
    try {
      make_sweeps(ions);
    } catch (const std::exception& problem) {
      failure = problem.what();
    }
  }
  int length = static_cast<int>(failure.size());
  MPI_Bcast(&length, 1, MPI_INT, 0, world);
  if (length > 0) {
    failure.resize(length);
    MPI_Bcast(failure.data(), length, MPI_CHAR, 0, world);
    error->all(FLERR, "Fix manymove/coulomb (ions counted from 0 by ID): {}", failure);
  }
  bigint count = static_cast<bigint>(ions.size());
  MPI_Bcast(&count, 1, MPI_LMP_BIGINT, 0, world);
  ions.resize(count);
  constexpr bigint kPart = 1 << 20;  // of what MPI's int counts
  for (bigint first = 0; first < count; first += kPart) {
    const int some = static_cast<int>(std::min(kPart, count - first) * sizeof(Ion));
    MPI_Bcast(ions.data() + first, some, MPI_BYTE, 0, world);
  }
  scatter(ions);
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
      error->all(FLERR, "Fix manymove/coulomb: the restart file is damaged");
  past_sweeps_ = static_cast<std::uint64_t>(list[0]);
  past_trials_ = static_cast<std::uint64_t>(list[1]);
  past_accepted_ = static_cast<std::uint64_t>(list[2]);
}
