// SPDX-License-Identifier: GPL-2.0-or-later
#include "resident/device_session.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "atom.h"
#include "comm.h"
#include "core/dpd/packed_image.h"
#include "core/runtime/digest.h"
#include "error.h"
#include "styles/pair_manymove_dpd.h"
#include "timer.h"
#include "translation/box.h"
#include "update.h"

using namespace LAMMPS_NS;
using manymove::Digest;
using manymove::dpd::HostArrays;

namespace {

thread_local Timer* asked_timer = nullptr;

bool time_is_up() {
  return asked_timer->has_timeout() &&
         (asked_timer->is_timeout() || asked_timer->get_timeout_remain() <= 0);
}

}  // namespace

DeviceSession::DeviceSession(LAMMPS* lmp, ScriptTranslation& script, const DeviceWishes& wishes)
    : DevicePhase(lmp, wishes), script_(script) {
  make_engine();
}

void DeviceSession::make_engine() {
  if (engine_) earlier_ = counters();
  engine_.reset();
  time_step_ = update->dt;
  cuts_ = cuts();
  guarded([&] { engine_ = engine_of(script_.settings()); });
  drops_.assign(engine_->temperature_drops().size(), 0.0);
}

std::vector<double> DeviceSession::cuts() const {
  manymove::dpd::Settings settings;
  describe_box(lmp, settings);
  std::vector<double> all;
  for (const std::vector<double>& cut : settings.grid.cut)
    all.insert(all.end(), cut.begin(), cut.end());
  return all;
}

HostArrays DeviceSession::arrays_with_images() {
  image_.resize(static_cast<std::size_t>(atom->nlocal));
  HostArrays arrays = DevicePhase::arrays();
  arrays.image = reinterpret_cast<int (*)[3]>(image_.data());
  return arrays;
}

void DeviceSession::add_scalars(HostArrays& arrays) {
  if (!script_.dpd()->scalars()) return;
  read_scalars(*atom, atom->nlocal, false, scalars_);
  read_scalars(*atom, atom->nlocal, true, flux_);
  arrays.scalars = pointer_to(scalars_);
  arrays.flux = pointer_to(flux_);
}

void DeviceSession::upload(bool other_coefficients) {
  bool changed = false;
  guarded([&] { changed = script_.has_new_classes(communicator_); });
  if (other_coefficients || changed || update->dt != time_step_ || cuts() != cuts_) make_engine();
  guarded([&] {
    script_.read_particles(communicator_);
    HostArrays from = arrays_with_images();
    for (int i = 0; i < atom->nlocal; ++i) image_[i] = manymove::dpd::unpack_image(atom->image[i]);
    add_scalars(from);
    std::vector<double> velocity = other_velocities();
    if (!velocity.empty()) from.velocity = reinterpret_cast<double (*)[3]>(velocity.data());
    if (script_.shearing().fix()) convert_images(update->ntimestep, 1);
    std::vector<double> position;  // that the fix of a shear has not carried with the box
    if (script_.shearing().fix() && !script_.shearing().has_flow() && atom->nlocal > 0) {
      position.assign(atom->x[0], atom->x[0] + 3 * atom->nlocal);
      from.position = reinterpret_cast<double (*)[3]>(position.data());
      for (int i = 0; i < atom->nlocal; ++i) script_.shearing().undo_step(from.position[i]);
    }
    std::vector<std::array<double, 3>> force;
    if (script_.forces().has_body_forces()) {
      if (body_.empty()) find_body_forces();
      force = body_;
      for (int i = 0; i < atom->nlocal; ++i)
        for (int a = 0; a < 3; ++a) force[i][a] = atom->f[i][a] - body_[i][a];
      from.force = reinterpret_cast<double (*)[3]>(force.data());
    }
    body_.clear();
    find_rank_with_atoms();
    engine_->upload(from, script_.topology(), {update->ntimestep, script_.draw()});
    if (script_.thermostat().present()) engine_->set_thermostat(script_.thermostat().state());
  });
}

bigint DeviceSession::advance(bigint stop, bool sums) {
  asked_timer = timer;
  lost_in_ = -1;
  bool due = false;  // the engine leaves the changes of velocities at its last step to the caller
  while (engine_->step() < stop && !timer->is_timeout()) {
    const bool varies = script_.has_series();
    const bigint first = engine_->step(),
                 last = varies ? std::min(stop, first + script_.series_length()) : stop;
    manymove::dpd::ParameterSeries series;
    if (varies) series = script_.series(first, last);
    guarded([&] {
      if (due) engine_->change_velocities();  // with the targets of the series before
      engine_->set_parameter_series(std::move(series));
      try {
        engine_->advance(last - first, &time_is_up, sums || last < stop);
      } catch (const manymove::dpd::LostParticle&) {  // on all ranks
        if (!script_.may_lose_particles()) throw;
        lost_in_ = engine_->step();
      }
    });
    if (lost_in_ >= 0) {
      script_.readapt(update->ntimestep);
      return -1;
    }
    if (engine_->step() < last) {
      script_.readapt(engine_->step());
      break;
    }
    due = true;
  }
  if (engine_->step() < stop && !timer->is_timeout()) {
    error->warning(FLERR, "Wall time limit reached");
    timer->force_timeout();
  }
  warn_of_stretched_bonds();
  count_drops();
  if (script_.thermostat().present()) script_.thermostat().set_state(engine_->thermostat());
  return engine_->step();
}

void DeviceSession::change_velocities(unsigned what) {
  guarded([&] { engine_->change_velocities(); });
  count_drops();
  if (what & kVelocities) download(kVelocities);
}

std::array<double, 6> DeviceSession::kinetic_sums() {
  std::array<double, 6> sums;
  guarded([&] { sums = engine_->kinetic_sums(); });
  return sums;
}

std::vector<double> DeviceSession::profile(const manymove::dpd::Profile& profile) {
  std::vector<double> sums;
  guarded([&] { sums = engine_->profile(profile); });
  return sums;
}

void DeviceSession::follow(const Barostat::Change& change) {
  guarded([&] {
    const double* by = change.factor;
    if (by[0] != 1 || by[1] != 1 || by[2] != 1) engine_->scale_velocities(by);
    engine_->set_box(change.way, change.next);
  });
}

// What the engine's thermostats did since the last time.
void DeviceSession::count_drops() {
  std::vector<double> more = engine_->temperature_drops();
  for (std::size_t k = 0; k < more.size(); ++k) more[k] -= drops_[k];
  drops_ = engine_->temperature_drops();
  script_.velocities().count_drops(more);
}

// LAMMPS' own style warns in each step.
void DeviceSession::warn_of_stretched_bonds() {
  const std::uint32_t tag = engine_->energy_and_virial().stretched;
  if (tag == 0 || std::exchange(warned_, true) || comm->me != 0) return;
  error->warning(FLERR,
                 "Run style manymove/verlet: FENE bond too long before step {}: a bond of atom {}",
                 engine_->step(), tag);
}

std::vector<double> DeviceSession::other_velocities() const {
  const auto n = static_cast<std::size_t>(atom->nlocal);
  const ShearingBox& shearing = script_.shearing();
  if (n == 0 || (!shearing.has_flow() && !script_.forces().has_moves())) return {};
  std::vector<double> velocity(atom->v[0], atom->v[0] + 3 * n);
  for (std::size_t i = 0; shearing.has_flow() && i < n; ++i)
    velocity[3 * i + shearing.shear().flow] -= shearing.flow_at(atom->x[i]);
  script_.forces().prescribe(velocity);
  return velocity;
}

// A position is the same in boxes whose tilts differ by n periods if its images along the flow
// differ by n times its image along the gradient.
void DeviceSession::convert_images(bigint step, int sign) {
  const ShearingBox& shearing = script_.shearing();
  const double periods = shearing.periods_above(engine_->tilt(step)), whole = std::round(periods);
  if (std::fabs(periods - whole) > 1e-6 + 1.01 * std::fabs(shearing.periods_of_step()))
    throw std::runtime_error("fix deform does not shear the box at a constant rate");
  for (int i = 0; i < atom->nlocal; ++i)
    image_[i][shearing.shear().flow] +=
        sign * static_cast<int>(whole) * image_[i][shearing.shear().gradient];
}

// Velocities in a flow need the positions.
void DeviceSession::download(unsigned what) {
  if (script_.shearing().has_flow() && (what & kVelocities)) what |= kVelocities | kPositions;
  download_again(what);
}
void DeviceSession::download_again(unsigned what) {
  const ShearingBox& shearing = script_.shearing();
  guarded([&] {
    HostArrays to = arrays_with_images();
    add_scalars(to);
    if (!(what & kVelocities)) to.velocity = nullptr, to.scalars = nullptr;
    if (!(what & kForces)) to.force = nullptr, to.flux = nullptr;
    if (!(what & kPositions)) to.position = nullptr;
    if (!(what & kImages)) to.image = nullptr;
    to.velocity_axes = what & kVelocities;
    engine_->download(to);
    if (to.scalars) write_scalars(*atom, atom->nlocal, false, scalars_);
    if (to.flux) write_scalars(*atom, atom->nlocal, true, flux_);
    if (shearing.fix() && (what & kImages)) convert_images(engine_->step(), -1);
  });
  for (int i = 0; shearing.has_flow() && (what & kVelocities) && i < atom->nlocal; ++i)
    atom->v[i][shearing.shear().flow] += shearing.flow_at(atom->x[i]);
  if (!(what & kImages)) return;
  for (int i = 0; i < atom->nlocal; ++i)
    atom->image[i] = manymove::dpd::pack_image<imageint>(image_[i]);
}

void DeviceSession::set_origins() {
  guarded([&] {
    script_.read_tags();
    engine_->set_origins(atom->nlocal, script_.tags().data());
    find_rank_with_atoms();
  });
}

void DeviceSession::find_rank_with_atoms() {
  std::int64_t ranks_before = atom->nlocal < 3 ? -comm->nprocs : -comm->me;
  communicator_.maximum(&ranks_before, 1);
  rank_with_atoms_ = -ranks_before == comm->nprocs ? -1 : static_cast<int>(-ranks_before);
}

// ---- what others change ----

std::uint64_t DeviceSession::fingerprint(bool of_velocities) const {
  const auto n = static_cast<std::size_t>(atom->nlocal);
  Digest digest;
  if (of_velocities) {
    digest.add(atom->v[0], 3 * n * sizeof(double));
    return digest.value();
  }
  digest.add(atom->x[0], 3 * n * sizeof(double));
  digest.add(atom->f[0], 3 * n * sizeof(double));
  digest.add(atom->image, n * sizeof(imageint));
  digest.add(atom->tag, n * sizeof(tagint));
  digest.add(atom->type, n * sizeof(int));
  digest.add(atom->mask, n * sizeof(int));
  if (script_.charges().any()) digest.add(atom->q, n * sizeof(double));
  if (script_.dpd()->scalars()) {
    ScalarArrays scalars;
    read_scalars(*atom, atom->nlocal, false, scalars);
    digest.add(scalars.data(), n * sizeof scalars[0]);
  }
  digest.add(&update->dt, sizeof(double));
  return digest.value();
}

void DeviceSession::remember(unsigned what) {
  only_velocities_ = what != kEverything;
  velocities_ = fingerprint(true);
  if (only_velocities_) return;
  others_ = fingerprint(false);
  if (script_.forces().has_body_forces()) find_body_forces();
}

void DeviceSession::find_body_forces() {
  script_.forces().evaluate();
  body_.resize(static_cast<std::size_t>(atom->nlocal));
  for (int i = 0; i < atom->nlocal; ++i) script_.forces().body_force(i, body_[i].data());
}

void DeviceSession::accept_changes() {
  std::int64_t changed[2] = {!only_velocities_ && fingerprint(false) != others_,
                             fingerprint(true) != velocities_};
  guarded([&] { communicator_.maximum(changed, 2); });
  if (changed[0])
    upload();
  else if (changed[1])
    guarded([&] {
      const std::vector<double> other = other_velocities();
      engine_->set_velocities(
          atom->nlocal, script_.tags().data(),
          reinterpret_cast<const double (*)[3]>(other.empty() ? atom->v[0] : other.data()));
    });
  body_.clear();
}

void DeviceSession::check_velocities() {
  std::int64_t lost = 0;
  for (int i = 0; i < atom->nlocal; ++i)
    if (std::isnan(atom->v[i][0])) lost = std::max<std::int64_t>(lost, atom->tag[i]);
  guarded([&] {
    communicator_.maximum(&lost, 1);
    if (lost)
      throw manymove::dpd::LostParticle("particle " + std::to_string(lost) + " was lost in step " +
                                        std::to_string(update->ntimestep) +
                                        ": a pair is closer than its table, or a particle is " +
                                        "behind a wall");
  });
}

manymove::dpd::EngineCounters DeviceSession::counters() const {
  manymove::dpd::EngineCounters counters = engine_->counters();
  counters.steps += earlier_.steps;
  counters.builds += earlier_.builds;
  counters.intervals += earlier_.intervals;
  return counters;
}
