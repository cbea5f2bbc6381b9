// SPDX-License-Identifier: GPL-2.0-or-later
#include "resident/resident_verlet.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "angle.h"
#include "atom.h"
#include "bond.h"
#include "comm.h"
#include "compute.h"
#include "core/runtime/devices.h"
#include "dihedral.h"
#include "domain.h"
#include "error.h"
#include "fix.h"
#include "force.h"
#include "improper.h"
#include "irregular.h"
#include "kspace.h"
#include "modify.h"
#include "neighbor.h"
#include "output.h"
#include "pair.h"
#include "resident/device_session.h"
#include "resident/host_steps.h"
#include "resident/pairs_on_device.h"
#include "styles/pair_manymove_dpd.h"
#include "timer.h"
#include "translation/ave_chunk.h"
#include "translation/dpd_pairs.h"
#include "translation/script_translation.h"
#include "translation/velocities_of_sums.h"
#include "update.h"

using namespace LAMMPS_NS;

namespace {

// Where particles may leave the box, the host has a copy of them at most so many steps old.
constexpr bigint kStepsOfCopy = 50;

bool is_due(Fix* fix, bigint step) { return Readers::next_step(fix, step - 1) == step; }

// A null pointer where an input script has no such style.
void set_sums(auto* style, const manymove::dpd::EnergySum& sum) {
  if (!style) return;
  style->energy = sum.energy;
  std::copy_n(sum.virial, 6, style->virial);
}

std::string why_no_gpus() {
  const std::string here = manymove::why_no_cuda_devices();
  return here.empty() ? "another rank sees none" : here;
}

}  // namespace

// run_style manymove/verlet [device auto|cuda|cpu] [threads n]
//   [transport auto|peer|shared|nccl|mpi|host] [overlap yes|no]
VerletManymove::VerletManymove(LAMMPS* lmp, int narg, char** arg) : Verlet(lmp, narg, arg) {
  if (comm->nprocs > 1) communicator_of(lmp);  // compares versions, and watches the ranks
  for (int k = 0; k < narg; k += 2) {
    const std::string keyword = arg[k];
    if (keyword != "device" && keyword != "threads" && keyword != "transport" &&
        keyword != "overlap")
      error->all(
          FLERR,
          "Run style manymove/verlet: unknown keyword {} (device, threads, transport, overlap)",
          keyword);
    if (k + 1 == narg)
      utils::missing_cmd_args(FLERR, "run_style manymove/verlet " + keyword, error);
    if (keyword == "device") {
      device_ = arg[k + 1];
      if (device_ != "auto" && device_ != "cuda" && device_ != "cpu")
        error->all(FLERR, "Run style manymove/verlet: device {} must be auto, cuda or cpu",
                   device_);
    } else if (keyword == "transport") {
      transport_ = arg[k + 1];
      if (!manymove::is_transport(transport_))
        error->all(
            FLERR,
            "Run style manymove/verlet: transport {} must be auto, peer, shared, nccl, mpi or host",
            transport_);
    } else if (keyword == "overlap") {
      overlap_ = utils::logical(FLERR, arg[k + 1], false, lmp) != 0;
    } else {
      threads_ = utils::inumeric(FLERR, arg[k + 1], false, lmp);
      if (threads_ < 1)
        error->all(FLERR, "Run style manymove/verlet: threads {} must be positive", arg[k + 1]);
    }
  }
  if (device_ == "cuda" && !has_gpus())
    error->all(FLERR, "Run style manymove/verlet: device cuda is not available: {}; use device cpu",
               why_no_gpus());
}

VerletManymove::~VerletManymove() = default;

// Whether every rank sees one.
bool VerletManymove::has_gpus() const {
  std::int64_t without = manymove::cuda_devices().empty();
  if (comm->nprocs > 1) {
    MpiCommunicator communicator = communicator_of(lmp);
    reported(lmp, "Run style manymove/verlet", [&] { communicator.maximum(&without, 1); });
  }
  return without == 0;
}

// ---- around a run ----

void VerletManymove::init() {
  Verlet::init();
  if (triclinic != domain->triclinic || virial_style != (force->newton_pair ? 2 : 1) ||
      pair_compute_flag != (force->pair && force->pair->compute_flag ? 1 : 0))
    error->all(
        FLERR,
        "Run style manymove/verlet was built for another LAMMPS; build the plugin for this one");
  for (PairManymoveDPD* pair : dpd_pairs(lmp)) pair->want_lists_on_demand();
}

void VerletManymove::setup(int flag) {
  leave_device();
  script_ = std::make_unique<ScriptTranslation>(lmp, LastSetup{update->ntimestep, true});
  last_setup_ = {update->ntimestep, script_->shearing().fix() != nullptr};
  choose_place();  // before the table of output begins
  if (update->nsteps > 0) make_session();
  {
    const NameForFixes name(update);
    Verlet::setup(flag);
  }
  stale_ = refreshed_ = false;
  upload();
}

void VerletManymove::leave_device() {
  session_.reset();
  while (!pairs_.empty()) pairs_.pop_back();  // each restores what it has found
}

void VerletManymove::setup_minimal(int flag) {
  if (stale_ && !flag) refresh_neighbors(nullptr);
  const NameForFixes name(update);
  Verlet::setup_minimal(flag);
  stale_ = refreshed_ = false;
}

// On several ranks atoms have to be where LAMMPS looks for them when it continues.
void VerletManymove::cleanup() {
  if (session_ && stale_ && comm->nprocs > 1) {
    migrate_to_owners(*session_);
    script_->forces().add_on_host(vflag);
  }
  leave_device();
  script_.reset();
  Verlet::cleanup();
}

// ---- where to run ----

// A run that was not set up (pre no) begins with the particles where they are.
void VerletManymove::run(int steps) {
  if (!session_ || uploaded_ != update->ntimestep) {
    leave_device();
    script_ = std::make_unique<ScriptTranslation>(lmp, last_setup_);
    choose_place();
    if (steps > 0) make_session();
    upload();
  }
  uploaded_ = -1;
  if (session_)
    run_on_device(*script_, *session_, steps);
  else
    run_on_host(steps);
}

DeviceWishes VerletManymove::wishes() const {
  return {device_of_run_, threads_ ? threads_ : comm->nthreads, transport_, overlap_};
}

// Engines on the device, without particles yet.
void VerletManymove::make_session() {
  if (device_of_run_.empty() || atom->natoms == 0) return;
  if (!resident_) {
    for (PairManymoveDPD* pair : dpd_pairs(lmp))
      pairs_.push_back(std::make_unique<PairOnDevice>(lmp, *pair, wishes()));
    return;
  }
  session_ = std::make_unique<DeviceSession>(lmp, *script_, wishes());
  std::string text = session_->transport();
  if (comm->nprocs > 1) {
    MpiCommunicator communicator = communicator_of(lmp);
    const std::string hosts = ranks_by_host(communicator);
    if (!hosts.empty()) text += "; ranks " + hosts;
  }
  if (comm->me == 0 && text != said_about_transport_)
    utils::logmesg(lmp, "Run style manymove/verlet: ghosts travel through " + text + "\n");
  said_about_transport_ = text;
}

void VerletManymove::upload() {
  if (!session_) return;
  session_->upload(script_->adapting().any());  // also in setup, after the engine was made
  uploaded_ = update->ntimestep;
}

// Decides where the run takes place, and logs it, once for several runs.
void VerletManymove::choose_place() {
  device_of_run_ = device_ != "auto" ? device_ : has_gpus() ? "cuda" : "cpu";
  resident_ = false;
  const bool any = device_ == "auto", gpu = device_of_run_ == "cuda";
  const std::string style = "Run style manymove/verlet";
  std::string no_gpu = ": ";
  if (any && !gpu) no_gpu = ": no CUDA device (" + why_no_gpus() + "), ";
  const std::string name = gpu ? manymove::cuda_devices()[0].name : device_of_run_;
  std::string unserved = script_->unserved();
  if (unserved.empty() && gpu && script_->rigid().fix())
    unserved = script_->rigid().why_not_on_gpu(script_->settings().pairs);
  const std::string risk = any && !gpu && unserved.empty() ? script_->risk() : "";
  if (unserved.empty() && risk.empty()) unserved = script_->take_thermostat();
  resident_ = unserved.empty() && risk.empty();
  if (resident_) return announce(style + no_gpu + "the particles are on " + name, false);
  const std::string obstacle = risk.empty() ? PairOnDevice::obstacle(lmp) : risk;
  const std::string text = style + " cannot keep the particles on the device: " + unserved + risk;
  if (obstacle.empty())
    return announce(text + ". Pair forces are computed on " + name +
                        ", and positions, velocities and forces are copied in every step",
                    true);
  device_of_run_.clear();
  announce(text +
               ". Every step of this run goes through the host, at the speed of LAMMPS' own "
               "Verlet with the CPU's pair style" +
               (unserved.empty() || unserved.find(obstacle) != std::string::npos
                    ? ""
                    : ", because of " + obstacle),
           true);
}

void VerletManymove::announce(const std::string& text, bool warning) {
  if (text != said_ && comm->me == 0) {
    if (warning)
      error->warning(FLERR, text);
    else
      utils::logmesg(lmp, text + "\n");
  }
  said_ = text;
}

void VerletManymove::run_on_host(int steps) {
  if (stale_) refresh_neighbors(nullptr);
  if (std::exchange(refreshed_, false))
    neighbor->ago = -1;  // hybrid styles have lists of their own, which they make if it is 0
  const bigint first = update->ntimestep;
  const std::uint64_t copied_before = manymove::copied_bytes();
  {
    const NameForFixes name(update);
    Verlet::run(steps);
  }
  log_copied_bytes(manymove::copied_bytes() - copied_before, copied_before,
                   update->ntimestep - first);
}

// before: those before the run. Without a GPU there are none.
void VerletManymove::log_copied_bytes(std::uint64_t in_steps, std::uint64_t before, bigint steps) {
  if (comm->me != 0 || manymove::copied_bytes() == before) return;
  utils::logmesg(lmp,
                 "Run style manymove/verlet: {} bytes between host and device in {} steps, {} "
                 "for what was read\n",
                 in_steps, steps, manymove::copied_bytes() - before - in_steps);
}

// ---- particles on the device ----

void VerletManymove::run_on_device(ScriptTranslation& script, DeviceSession& session, int steps) {
  timer->stamp();
  const bigint first = update->ntimestep, last = first + steps, earlier_builds = neighbor->ncalls;
  const std::uint64_t copied_before = manymove::copied_bytes();
  std::uint64_t copied_in_steps = 0;
  unsigned what = kEverything;
  constexpr bigint never = std::numeric_limits<bigint>::max();
  bigint leaves = never;  // the step in which a particle leaves the box
  while (update->ntimestep < last) {
    const bool stepwise = script.barostat().fix() != nullptr;
    if (stepwise ? timer->check_timeout(static_cast<int>(update->ntimestep - first))
                 : timer->is_timeout()) {
      if (what != kEverything) read(script, session, kEverything);
      update->nsteps = static_cast<int>(update->ntimestep - first);
      break;
    }
    if (std::min(script.next_step_of_host(), leaves) == update->ntimestep + 1) {
      step_on_host(script, session);
      what = kEverything;
      leaves = never;
      continue;
    }
    if (script.adapting().stops_at(update->ntimestep + 1)) adapt(script, session, what);
    const bigint stop = std::min(next_stop(script, last), leaves - 1);
    const std::uint64_t copied = manymove::copied_bytes();
    if (stepwise) begin_step(script, session);
    ev_set(stop);
    const bigint reached = session.advance(stop, stepwise || eflag || vflag);
    if (reached < update->ntimestep) {
      // Back to the copy of the host, and from there to the step before.
      leaves = session.lost_in();
      session.upload(true);
      continue;
    }
    update->ntimestep = reached;
    script.draw();  // counts the draws of the steps just made
    copied_in_steps += manymove::copied_bytes() - copied;
    stale_ = true;
    timer->stamp(Timer::PAIR);
    const bool in_time = update->ntimestep == stop;
    ev_set(update->ntimestep);
    const bool tallied = stepwise && wants_values_per_atom();
    if (tallied) read(script, session, kEverything);  // as the forces found the particles
    const bool changed = stepwise && end_step(script, session);
    profiles_.clear();
    what = stop == last || !in_time ? kEverything : what_is_read(script, session);
    script.shearing().set_before(update->ntimestep);
    if (tallied)
      session.download(kVelocities | kPositions | kImages);
    else
      read(script, session, what);
    if (stop == last) session.check_velocities();
    script.shearing().set_after_step();
    if (!changed && script.velocities().act_at(update->ntimestep)) session.change_velocities(what);
    timer->stamp(Timer::COMM);
    if (in_time) let_others_act(script, session, what);
  }
  const manymove::dpd::EngineCounters counters = session.counters();
  neighbor->ncalls = earlier_builds + counters.builds;
  if (comm->me == 0 && counters.intervals > 0)
    utils::logmesg(lmp,
                   "Run style manymove/verlet: {} kernels took the steps between two builds of "
                   "lists\n",
                   counters.intervals);
  log_copied_bytes(copied_in_steps, copied_before, update->ntimestep - first);
}

// The next step in which anybody may look at the particles.
bigint VerletManymove::next_stop(const ScriptTranslation& script, bigint last) const {
  const bigint now = update->ntimestep;
  if (script.barostat().fix()) return now + 1;
  if (script.may_lose_particles()) last = std::min(last, now + kStepsOfCopy);
  bigint stop = std::min({last, std::max(output->next, now + 1), script.next_step_of_host() - 1});
  for (Fix* fix : script.end_of_step()) stop = std::min(stop, Readers::next_step(fix, now));
  return std::min(stop, script.adapting().last_step_before(now));
}

// A step in which a fix of LAMMPS acts on the atoms before the forces, or in which LAMMPS deletes
// atoms that have left the box.
void VerletManymove::step_on_host(const ScriptTranslation& script, DeviceSession& session) {
  read(script, session, kEverything, true);
  script.thermostat().set_up();
  {
    const NameForFixes name(update);
    const ListsOfEachStep lists(neighbor);
    Verlet::run(1);
  }
  stale_ = refreshed_ = false;
  session.upload(script.adapting().any());
}

// The first half of the next step of a fix that changes the box.
void VerletManymove::begin_step(const ScriptTranslation& script, DeviceSession& session) {
  if (!script.barostat().integrates()) return;
  ++update->ntimestep;
  ev_set(update->ntimestep);
  session.follow(script.barostat().begin_step(session.kinetic_sums()));
  --update->ntimestep;
}

// The end of a step of such a fix. Returns whether velocities have also changed as they do at the
// end of steps, which is before the box does.
bool VerletManymove::end_step(const ScriptTranslation& script, DeviceSession& session) {
  const bool integrates = script.barostat().integrates();
  if (!integrates && script.velocities().act_at(update->ntimestep)) session.change_velocities(0);
  take_sums(script, session);
  session.follow(script.barostat().end_step(session.kinetic_sums()));
  return !integrates;
}

// Lets fix adapt act before the forces of the next step, with variables that may depend on the
// particles. what: the arrays of the host that are up to date.
void VerletManymove::adapt(ScriptTranslation& script, DeviceSession& session, unsigned what) {
  if (what != kEverything) read(script, session, kEverything);
  ++update->ntimestep;
  script.adapt(vflag);
  --update->ntimestep;
}

bool VerletManymove::wants_values_per_atom() const {
  return (eflag & ENERGY_ATOM) != 0 || (vflag & (VIRIAL_ATOM | VIRIAL_CENTROID)) != 0;
}

// What output and fixes at the end of steps read in the present step.
unsigned VerletManymove::what_is_read(const ScriptTranslation& script,
                                      const DeviceSession& session) {
  const bigint now = update->ntimestep;
  if (script.may_lose_particles() || wants_values_per_atom() || output->next_dump_any == now ||
      output->next_restart == now)
    return kEverything;
  unsigned what =
      output->next == now ? script.readers().of_thermo(script.forces().has_body_forces()) : 0;
  const bool body = script.forces().has_body_forces(),
             fixed = !script.barostat().fix() && !script.shearing().fix();
  for (Fix* fix : script.end_of_step()) {
    if (!is_due(fix, now)) continue;
    std::optional<manymove::dpd::Profile> profile;
    if (fixed && fix->style == std::string("ave/chunk")) profile = AveChunk(lmp, fix).profile(body);
    if (profile)
      profiles_.emplace_back(fix, *profile);
    else
      what |= script.readers().of(fix, body);
  }
  // Others may read the chunks of the atoms, which are not assigned if the engine makes the sums.
  if (what & kPositions)
    for (; !profiles_.empty(); profiles_.pop_back())
      what |= script.readers().of(profiles_.back().first, body);
  if ((what & kSums) &&
      ((what & kVelocities) || script.shearing().has_flow() || session.rank_with_atoms() < 0))
    what = (what | kVelocities) & kEverything;
  return what;
}

// Makes the host's arrays and sums those of the present step.
// ghosts: also ghost atoms and neighbor lists.
void VerletManymove::read(const ScriptTranslation& script, DeviceSession& session, unsigned what,
                          bool ghosts) {
  session.download(what);
  const bool per_atom = wants_values_per_atom(),
             densities = what == kEverything && script.dpd()->has_densities_of_atoms();
  if (what == kEverything &&
      (ghosts || per_atom || densities || script.readers().read_neighbors() ||
       output->next_dump_any == update->ntimestep))
    refresh_neighbors(&session);
  if (densities) script.dpd()->update_densities();
  if (what & kForces) script.forces().add_on_host(vflag);
  if (per_atom) tally_per_atom(script, session);
  take_sums(script, session);
}

// Energies and virials of the present step, and rigid bodies.
void VerletManymove::take_sums(const ScriptTranslation& script, const DeviceSession& session) {
  const manymove::dpd::EnergyAndVirial sums = session.energy_and_virial();
  force->pair->eng_vdwl = sums.pairs.energy;
  force->pair->eng_coul = 0;
  std::copy_n(sums.pairs.virial, 6, force->pair->virial);
  script.charges().set_sums(sums);
  script.rigid().write(session.rigid_bodies(), sums.constraints.virial);
  set_sums(force->bond, sums.bonds);
  set_sums(force->angle, sums.angles);
  set_sums(force->dihedral, sums.dihedrals);
  set_sums(force->improper, sums.impropers);
}

// Energies and virials by particle, from the styles of the host, which also leave sums. The forces
// of a step are those at the velocities in its middle.
void VerletManymove::tally_per_atom(const ScriptTranslation& script, const DeviceSession& session) {
  const int n = atom->nlocal;
  const auto values = 3 * static_cast<std::size_t>(n);
  const std::vector<double> velocity(atom->v[0], atom->v[0] + values),
      total_force(atom->f[0], atom->f[0] + values);
  ScalarArrays scalars, flux;
  const bool carry = script.dpd()->scalars() != manymove::dpd::kNoScalars;
  if (carry) read_scalars(*atom, n, false, scalars);
  if (carry) read_scalars(*atom, n, true, flux);
  for (int i = 0; i < n; ++i) {
    if (!script.is_integrated(i)) continue;
    const double mass = atom->rmass ? atom->rmass[i] : atom->mass[atom->type[i]];
    if (script.thermostat().present())
      script.thermostat().undo_half_step(session.factor_of_thermostat(), script.shearing(),
                                         atom->x[i], atom->v[i]);
    const double half_kick = 0.5 * update->dt * force->ftm2v / mass;
    for (int a = 0; a < 3; ++a) atom->v[i][a] -= half_kick * atom->f[i][a];
    for (int k = 0; carry && k < manymove::dpd::kScalars; ++k)
      if (const double* const rate = scalar_of_atom(*atom, i, k, true))
        *scalar_of_atom(*atom, i, k, false) -=
            0.5 * update->dt / (atom->edpd_flag ? atom->edpd_cv[i] : 1) * *rate;
  }
  comm->forward_comm();
  force_clear();
  force->pair->compute(eflag, vflag);
  if (atom->molecular && force->bond) force->bond->compute(eflag, vflag);
  if (atom->molecular && force->angle) force->angle->compute(eflag, vflag);
  if (atom->molecular && force->dihedral) force->dihedral->compute(eflag, vflag);
  if (atom->molecular && force->improper) force->improper->compute(eflag, vflag);
  if (force->kspace) force->kspace->compute(eflag, vflag);
  std::ranges::copy(velocity, atom->v[0]);
  std::ranges::copy(total_force, atom->f[0]);
  if (carry) write_scalars(*atom, n, false, scalars);
  if (carry) write_scalars(*atom, n, true, flux);
  comm->forward_comm();
}

// Ghosts and lists as in a step in which LAMMPS rebuilds them. session: where velocities
// and forces are; null if they are with the atoms. One rank keeps its atoms in their order.
void VerletManymove::refresh_neighbors(DeviceSession* session) {
  const auto n = static_cast<std::size_t>(atom->nlocal);
  std::vector<double> position;
  std::vector<imageint> image;
  if (comm->nprocs > 1 && session) {
    migrate_to_owners(*session);
  } else {
    if (triclinic) {
      position.assign(atom->x[0], atom->x[0] + 3 * n);
      image.assign(atom->image, atom->image + n);
      domain->x2lamda(atom->nlocal);
    }
    domain->pbc();
    reset_box();
    comm->exchange();
    comm->borders();
    if (triclinic) domain->lamda2x(atom->nlocal + atom->nghost);
    for (std::size_t i = 0; comm->nprocs == 1 && i < image.size(); ++i)
      if (atom->image[i] == image[i]) std::copy_n(&position[3 * i], 3, atom->x[i]);
  }
  RigidFix::follow_atoms(modify);
  neighbor->build(1);
  stale_ = false;
  refreshed_ = true;
}

void VerletManymove::reset_box() {
  if (!domain->box_change) return;
  domain->reset_box();
  comm->setup();
  neighbor->setup_bins();
}

// Atoms go to the ranks whose sub-domains they are in, however far they have come.
void VerletManymove::migrate_to_owners(DeviceSession& session) {
  if (triclinic) domain->x2lamda(atom->nlocal);
  domain->pbc();
  reset_box();
  {
    Irregular irregular(lmp);
    constexpr int in_order = 1;
    irregular.migrate_atoms(in_order);
  }
  comm->exchange();
  comm->borders();
  if (triclinic) domain->lamda2x(atom->nlocal + atom->nghost);
  follow_atoms(session);
  session.download_again(kVelocities | kForces);  // LAMMPS left the forces behind
}

// To the ranks to which LAMMPS has sent them.
void VerletManymove::follow_atoms(DeviceSession& session) {
  session.set_origins();
  // Atoms have changed ranks, so that values by atom in computes belong to other atoms or to none:
  // commands between runs compute them again.
  for (int k = 0; k < modify->ncompute; ++k) {
    Compute* compute = modify->compute[k];
    compute->invoked_flag &= ~(Compute::INVOKED_PERATOM | Compute::INVOKED_LOCAL);
    compute->invoked_peratom = compute->invoked_local = -1;
  }
}

void VerletManymove::let_others_act(const ScriptTranslation& script, DeviceSession& session,
                                    unsigned what) {
  const bigint step = update->ntimestep;
  std::optional<VelocitiesOfSums> few;
  if (what & kSums)
    few.emplace(atom, session.kinetic_sums(), comm->me == session.rank_with_atoms(), rows_);
  std::vector<Fix*> due;
  for (Fix* fix : script.end_of_step())
    if (is_due(fix, step)) due.push_back(fix);
  const bool may_change = !std::ranges::all_of(due, &Readers::only_reads);
  if (may_change) session.remember(what);
  for (Fix* fix : due) {
    const auto found =
        std::ranges::find(profiles_, fix, [](const auto& profile) { return profile.first; });
    if (found == profiles_.end())
      fix->end_of_step();
    else
      AveChunk(lmp, fix).take_sample(session.profile(found->second));
  }
  if (may_change) session.accept_changes();
  if (!due.empty()) timer->stamp(Timer::MODIFY);
  if (step == output->next) {
    output->write(step);
    timer->stamp(Timer::OUTPUT);
  }
}
