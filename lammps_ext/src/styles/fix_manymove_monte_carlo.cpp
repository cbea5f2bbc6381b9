// SPDX-License-Identifier: GPL-2.0-or-later
#include "styles/fix_manymove_monte_carlo.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <future>
#include <stdexcept>

#include "atom.h"
#include "comm.h"
#include "core/dpd/packed_image.h"
#include "core/runtime/devices.h"
#include "domain.h"
#include "error.h"
#include "modify.h"
#include "update.h"

using namespace LAMMPS_NS;
using manymove::dpd::pack_image;
using manymove::dpd::unpack_image;

static_assert(manymove::dpd::kImageBits<imageint> == IMGBITS);

FixMonteCarlo::FixMonteCarlo(LAMMPS* lmp, int narg, char** arg, int least, const char* count_name)
    : Fix(lmp, narg, arg), name_(std::string("Fix ") + arg[2]) {
  if (narg < least) utils::missing_cmd_args(FLERR, std::string("fix ") + arg[2], error);
  if (!atom->tag_enable) error->all(FLERR, "{} needs atom IDs (atom_modify id yes)", name_);
  nevery = positive_integer("N", arg[3]);
  count_ = positive_integer(count_name, arg[4]);
  seed_ = static_cast<std::uint64_t>(positive_integer("seed", arg[5]));
  // Reneighboring at these steps: atoms migrate, ghosts and lists are made again.
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
  } else {
    return false;
  }
  return true;
}

// Only rank 0 uses a GPU; whether other ranks see one does not matter.
void FixMonteCarlo::choose_device(bool on_cpus) {
  if (comm->nprocs > 1) communicator_of(lmp);  // compares versions, and watches the ranks
  collectively([&] {
    on_first_rank([&] {
      const bool none = manymove::cuda_devices().empty();
      if (device_ == "auto") device_ = none ? "cpu" : "cuda:0";
      if (none && device_.rfind("cuda", 0) == 0)
        throw std::invalid_argument("device " + device_ + " is not available: " +
                                    manymove::why_no_cuda_devices() + "; use device cpu");
    });
    std::vector<double> on_cpu{static_cast<double>(device_ == "cpu")};
    spread(on_cpu);
    shared_ = on_cpus && comm->nprocs > 1 && on_cpu[0] != 0;
    if (shared_) device_ = "cpu";
  });
}

void FixMonteCarlo::check_surroundings(bool tilts) const {
  if (atom->natoms > MAXSMALLINT)
    error->all(FLERR, "{}: {} atoms are too many, at most {}", name_, atom->natoms, MAXSMALLINT);
  if (utils::strmatch(update->integrate_style, "^respa"))
    error->all(FLERR, "{} does not work with run_style respa", name_);
  if (update->whichflag == 2) error->all(FLERR, "{} does not work with minimize", name_);
  for (const Fix* other : modify->get_fix_list())
    if (other->box_change & ~BOX_CHANGE_DOMAIN)
      error->all(
          FLERR,
          "{}: fix {} ({}) changes the box, which must be constant; remove it (unfix {}), or "
          "use a style that keeps the box, such as fix nvt",
          name_, other->id, other->style, other->id);
  if (domain->nonperiodic == 2)
    error->all(
        FLERR,
        "{}: a shrink-wrapped boundary changes the box, which must be constant; use boundary "
        "p or f",
        name_);
  if (domain->triclinic && !tilts)
    error->all(FLERR, "{} does not work with triclinic boxes", name_);
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

// ---- collective calls ----

void FixMonteCarlo::collectively(const std::function<void()>& task) {
  reported(lmp, name_, [&] {
    ranks_.emplace(world);
    if (comm->nprocs == 1) return task();
    manymove::collective(*ranks_, task);
  });
}

std::vector<FixMonteCarlo::Particle> FixMonteCarlo::gather(bool of_group) const {
  std::vector<std::vector<Particle>> sent(static_cast<std::size_t>(comm->nprocs));
  std::vector<Particle>& mine = sent[0];
  for (int i = 0; i < atom->nlocal; ++i)
    if (static_cast<bool>(atom->mask[i] & groupbit) == of_group)
      mine.push_back({static_cast<double>(atom->tag[i]),
                      static_cast<double>(atom->type[i]),
                      atom->molecule_flag ? static_cast<double>(atom->molecule[i]) : 0,
                      atom->q_flag ? atom->q[i] : 0,
                      atom->rmass_flag ? atom->rmass[i] : atom->mass[atom->type[i]],
                      {atom->x[i][0], atom->x[i][1], atom->x[i][2]},
                      {atom->v[i][0], atom->v[i][1], atom->v[i][2]},
                      comm->me,
                      0,
                      unpack_image(atom->image[i])});
  std::vector<Particle> all = shared_ ? manymove::collect(*ranks_, std::move(mine))
                                      : manymove::deliver(*ranks_, std::move(sent));
  std::ranges::sort(all, {}, &Particle::tag);
  return all;
}

// The task has a thread of its own, so that the one that calls MPI is free to answer, whatever
// MPI's level of thread support. If another rank fails meanwhile, this one ends when the task is
// done.
void FixMonteCarlo::on_first_rank(const std::function<void()>& task) const {
  if (comm->nprocs == 1) return task();
  manymove::together(*ranks_, [&] {
    if (comm->me > 0) return;
    std::future<void> done = std::async(std::launch::async, task);
    while (done.wait_for(std::chrono::milliseconds(10)) != std::future_status::ready)
      ranks_->watchdog().look();
    done.get();
  });
}

void FixMonteCarlo::on_moving_ranks(const std::function<void()>& task) const {
  shared_ ? task() : on_first_rank(task);
}

void FixMonteCarlo::spread(std::vector<double>& values) const {
  std::vector<double> all(values.size() * static_cast<std::size_t>(comm->nprocs));
  ranks_->gather(values.data(), all.data(), values.size() * sizeof(double));
  std::copy_n(all.begin(), values.size(), values.begin());
}

void FixMonteCarlo::move(Particle& atom, const double (&to)[3]) const {
  for (int a = 0; a < 3; ++a) {
    // Who left on one side and came in on the other has changed its image.
    if (domain->periodicity[a])
      atom.image[a] -= static_cast<int>(std::nearbyint((to[a] - atom.x[a]) / domain->prd[a]));
    atom.x[a] = to[a];
  }
  atom.moved = 1;
}

void FixMonteCarlo::leave(const std::vector<Particle>& atoms) const {
  std::vector<std::vector<Particle>> sent(static_cast<std::size_t>(comm->nprocs));
  for (const Particle& a : atoms)
    if (a.moved) sent[static_cast<std::size_t>(a.rank)].push_back(a);
  const std::vector<Particle> mine = shared_ ? std::move(sent[static_cast<std::size_t>(comm->me)])
                                             : manymove::deliver(*ranks_, std::move(sent));
  for (int i = 0; i < atom->nlocal; ++i) {
    const auto tag = static_cast<double>(atom->tag[i]);
    const auto at = std::ranges::lower_bound(mine, tag, {}, &Particle::tag);
    if (at == mine.end() || at->tag != tag) continue;
    std::copy_n(at->x, 3, atom->x[i]);
    std::copy_n(at->v, 3, atom->v[i]);
    atom->image[i] = pack_image<imageint>(at->image);
  }
}
