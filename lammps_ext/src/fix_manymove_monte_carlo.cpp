// SPDX-License-Identifier: GPL-2.0-or-later
#include "fix_manymove_monte_carlo.h"

#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <exception>

#include "atom.h"
#include "comm.h"
#include "core/common/devices.h"
#include "domain.h"
#include "error.h"
#include "update.h"

using namespace LAMMPS_NS;

FixMonteCarlo::FixMonteCarlo(LAMMPS* lmp, int narg, char** arg, int least, const char* count_name)
    : Fix(lmp, narg, arg), name_(std::string("Fix ") + arg[2]) {
  if (narg < least) utils::missing_cmd_args(FLERR, std::string("fix ") + arg[2], error);
  if (!atom->tag_enable) error->all(FLERR, "{} needs atom IDs", name_);
  nevery = positive_integer("N", arg[3]);
  count_ = positive_integer(count_name, arg[4]);
  seed_ = static_cast<std::uint64_t>(positive_integer("seed", arg[5]));
  take("device", "auto");
  // Reneighboring at these steps: atoms migrate, ghosts and lists are made anew.
  force_reneighbor = 1;
  vector_flag = 1;
  global_freq = 1;
}

int FixMonteCarlo::setmask() { return FixConst::PRE_EXCHANGE; }

double FixMonteCarlo::positive(const char* name, const char* text) const {
  const double value = utils::numeric(FLERR, text, false, lmp);
  if (!(value > 0) || !std::isfinite(value))
    error->all(FLERR, "{}: {} {} must be positive", name_, name, text);
  return value;
}

int FixMonteCarlo::positive_integer(const char* name, const char* text) const {
  const int value = utils::inumeric(FLERR, text, false, lmp);
  if (value < 1) error->all(FLERR, "{}: {} {} must be positive", name_, name, text);
  return value;
}

bool FixMonteCarlo::take(const std::string& key, const char* value) {
  if (key == "threads") {
    threads_ = positive_integer("threads", value);
  } else if (key == "device") {
    device_ = value;
    if (device_ == "auto") device_ = manymove::cuda_devices().empty() ? "cpu" : "cuda:0";
  } else {
    return false;
  }
  return true;
}

void FixMonteCarlo::check_surroundings() const {
  if (utils::strmatch(update->integrate_style, "^respa"))
    error->all(FLERR, "{} does not work with run_style respa", name_);
  if (update->whichflag == 2) error->all(FLERR, "{} does not work with minimize", name_);
  if (domain->triclinic) error->all(FLERR, "{} does not work with triclinic boxes", name_);
  if (domain->dimension != 3) error->all(FLERR, "{} needs three dimensions", name_);
  if (comm->nprocs > 1 && comm->style != Comm::BRICK)
    error->all(FLERR,
               "{}: with comm_style tiled atoms cannot migrate as far as they move; use comm_style "
               "brick",
               name_);
  for (int axis = 0; axis < 3; ++axis)
    if (comm->procgrid[axis] > 3)
      error->all(FLERR,
                 "{}: there are {} processors along {}; LAMMPS' exchange reaches all of at most 3 "
                 "(processors command)",
                 name_, comm->procgrid[axis], "xyz"[axis]);
}

std::vector<FixMonteCarlo::Particle> FixMonteCarlo::gather(bool of_group) const {
  std::vector<Particle> mine;
  for (int i = 0; i < atom->nlocal; ++i)
    if (static_cast<bool>(atom->mask[i] & groupbit) == of_group)
      mine.push_back({static_cast<double>(atom->tag[i]),
                      static_cast<double>(atom->type[i]),
                      atom->q_flag ? atom->q[i] : 0,
                      {atom->x[i][0], atom->x[i][1], atom->x[i][2]},
                      0});
  if (atom->natoms > MAXSMALLINT)
    error->all(FLERR, "{}: {} atoms are too many, at most {}", name_, atom->natoms, MAXSMALLINT);
  MPI_Datatype particle;
  MPI_Type_contiguous(sizeof(Particle), MPI_BYTE, &particle);
  MPI_Type_commit(&particle);
  const int number = static_cast<int>(mine.size());
  std::vector<int> count(comm->nprocs), first(comm->nprocs);
  MPI_Gather(&number, 1, MPI_INT, count.data(), 1, MPI_INT, 0, world);
  for (int rank = 1; rank < comm->nprocs; ++rank) first[rank] = first[rank - 1] + count[rank - 1];
  std::vector<Particle> all(comm->me == 0 ? first.back() + count.back() : 0);
  MPI_Gatherv(mine.data(), number, particle, all.data(), count.data(), first.data(), particle, 0,
              world);
  MPI_Type_free(&particle);
  std::sort(all.begin(), all.end(),
            [](const Particle& a, const Particle& b) { return a.tag < b.tag; });
  return all;
}

void FixMonteCarlo::on_first_rank(const std::function<void()>& task,
                                  const std::string& note) const {
  std::string failure;
  if (comm->me == 0) {
    try {
      task();
    } catch (const std::exception& problem) {
      failure = problem.what();
    }
  }
  int length = static_cast<int>(failure.size());
  MPI_Bcast(&length, 1, MPI_INT, 0, world);
  if (length == 0) return;
  failure.resize(length);
  MPI_Bcast(failure.data(), length, MPI_CHAR, 0, world);
  error->all(FLERR, "{}: {} ({})", name_, failure, note);
}

void FixMonteCarlo::leave(std::vector<Particle>& atoms) const {
  bigint count = static_cast<bigint>(atoms.size());
  MPI_Bcast(&count, 1, MPI_LMP_BIGINT, 0, world);
  atoms.resize(count);
  constexpr bigint kPart = 1 << 20;  // of what MPI's int counts
  for (bigint first = 0; first < count; first += kPart) {
    const int some = static_cast<int>(std::min(kPart, count - first) * sizeof(Particle));
    MPI_Bcast(atoms.data() + first, some, MPI_BYTE, 0, world);
  }
  for (int i = 0; i < atom->nlocal; ++i) {
    const auto tag = static_cast<double>(atom->tag[i]);
    const auto at =
        std::lower_bound(atoms.begin(), atoms.end(), tag,
                         [](const Particle& a, double wanted) { return a.tag < wanted; });
    if (at == atoms.end() || at->tag != tag || at->moved == 0) continue;
    imageint image[3] = {(atom->image[i] & IMGMASK) - IMGMAX,
                         (atom->image[i] >> IMGBITS & IMGMASK) - IMGMAX,
                         (atom->image[i] >> IMG2BITS) - IMGMAX};
    for (int a = 0; a < 3; ++a) {
      // Who left on one side and came in on the other has changed its image.
      if (domain->periodicity[a])
        image[a] -=
            static_cast<imageint>(std::nearbyint((at->x[a] - atom->x[i][a]) / domain->prd[a]));
      atom->x[i][a] = at->x[a];
    }
    const auto packed = [&](int a) { return (image[a] + IMGMAX) & IMGMASK; };
    atom->image[i] = packed(0) | packed(1) << IMGBITS | packed(2) << IMG2BITS;
  }
}
