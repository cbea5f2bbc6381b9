// SPDX-License-Identifier: BSD-3-Clause
#include "engine_base.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace manymove::dpd {

namespace {

// In mixed precision, pairs multiply two temperatures and two heat capacities, and add two
// concentrations. The results must be normal numbers of float32, and so must the reciprocals of
// products, which GPUs take for 0 otherwise.
constexpr double kLeastFactor = 1.1e-19, kLargestFactor = 9.2e18, kLargestSummand = 1.7e38;

void check_mixed_precision(ScalarKind kind, const double scalars[kScalars], std::uint32_t tag) {
  const auto check = [&](const char* name, double value, double least, double largest) {
    if (!(value >= least && value <= largest))
      refuse("the ", name, ' ', value, " of particle ", tag, " is not between ", least, " and ",
             largest, ", the range of mixed precision: use precision double");
  };
  if (kind == kTemperature) {
    check("temperature", scalars[0], kLeastFactor, kLargestFactor);
    check("heat capacity", scalars[1], kLeastFactor, kLargestFactor);
  } else {
    for (int k = 0; k < kScalars; ++k)
      check("concentration", scalars[k], -kLargestSummand, kLargestSummand);
  }
}

}  // namespace

EngineBase::EngineBase(const Settings& settings, Communicator* communicator)
    : ShearedBox(settings),
      communicator_(communicator),
      moment_units_(settings),
      temperature_drops_(settings.velocity_changes.size()),
      chain_(settings.thermostat, settings.time_step) {}

void EngineBase::upload(const HostArrays& arrays, const Topology& topology, Clock clock) {
  guarded([&] {
    check_together([&] {
      // What one rank refuses all ranks refuse, before the engine changes.
      check_topology(settings_, arrays.count, topology);
      check_velocities(arrays.count, topology.tag, arrays.velocity);
      check_scalars(arrays, topology.tag);
    });
    set_clock(clock);
    set_tilt(step_);
    energy_and_virial_ = {};
    take_particles(arrays, topology);
  });
}

void EngineBase::set_particles(int count, const std::uint32_t* tag, const double (*position)[3],
                               const double (*velocity)[3]) {
  guarded([&] {
    check_together([&] { check_velocities(count, tag, velocity); });
    const std::optional<Misplaced> misplaced = replace(count, tag, position, velocity);
    check_together([&] {
      if (misplaced) refuse_particle(misplaced->tag, misplaced->position);
    });
  });
}

void EngineBase::set_parameter_series(ParameterSeries series) {
  // The present coefficients become the first ones; later ones of the former series are dropped.
  std::vector<Coefficients> tables(1, tables_[table_of(step_)]);
  for (Coefficients& each : series.coefficients) {
    if (each.pairs.size() != tables[0].pairs.size() ||
        each.bonds.size() != tables[0].bonds.size() ||
        each.angles.size() != tables[0].angles.size() ||
        each.dihedrals.size() != tables[0].dihedrals.size() ||
        each.impropers.size() != tables[0].impropers.size() || each.from <= step_ ||
        each.from < tables.back().from)
      throw std::invalid_argument("a series has coefficients of other types or steps");
    check_settings(settings_with(each));
    tables.push_back(std::move(each));
  }
  series.coefficients.clear();
  // Steps can still be repeated if neither series has anything.
  if (tables.size() > 1 || tables_.size() > 1 || !series.values.empty() || !series_.values.empty())
    parameters_change();
  series_ = std::move(series);
  if (tables.size() == 1 && tables_.size() == 1) return;
  tables_ = std::move(tables);
  settings_ = settings_with(tables_[0]);
  take_coefficients();
}

void EngineBase::advance(std::int64_t steps, bool (*interrupted)(), bool sums) {
  guarded([&] { advance_guarded(steps, interrupted, sums); });
}

void EngineBase::change_velocities() {
  guarded([&] { change_velocities_guarded(); });
}

void EngineBase::set_thermostat(NoseHooverState state) {
  const auto chain = static_cast<std::size_t>(settings_.thermostat.chain);
  if (state.position.size() != chain || state.velocity.size() != chain)
    throw std::invalid_argument("the state of the thermostat has another chain length");
  chain_.start(std::move(state));
}

int EngineBase::only_change_of(std::int64_t step) const {
  int only = -1, due = 0;
  for (std::size_t k = 0; k < settings_.velocity_changes.size(); ++k)
    if (step % settings_.velocity_changes[k].every == 0) only = static_cast<int>(k), ++due;
  return due == 1 ? only : -1;
}

void EngineBase::refuse_particle(std::uint32_t tag, const double r[3]) {
  refuse("particle ", tag, " at (", r[0], ", ", r[1], ", ", r[2],
         ") is outside the box, or not at a finite place");
}

void EngineBase::check_velocities(int count, const std::uint32_t* tag,
                                  const double (*velocity)[3]) {
  for (int i = 0; i < count; ++i)
    if (const double* v = velocity[i]; !std::isfinite(v[0] + v[1] + v[2]))
      refuse("the velocity of particle ", tag[i], " is not finite");
}

void EngineBase::check_scalars(const HostArrays& arrays, const std::uint32_t* tag) const {
  for (int i = 0; settings_.pairs.scalars && i < arrays.count; ++i) {
    const double* const s = arrays.scalars[i];
    if (!std::isfinite(s[0] + s[1] + s[2]))
      refuse("a scalar of particle ", tag[i], " is not finite");
    if (settings_.pairs.scalars == kTemperature && !(s[0] > 0 && s[1] > 0))
      refuse("the temperature ", s[0], " and the heat capacity ", s[1], " of particle ", tag[i],
             " must be positive");
    if (!settings_.pairs.double_precision)
      check_mixed_precision(settings_.pairs.scalars, s, tag[i]);
  }
}

void EngineBase::lose_particle(std::uint32_t tag) const {
  throw LostParticle(text_of(
      "particle ", tag, " was lost before step ", step_,
      ": it left the box or moved by a quarter of it in one step",
      settings_.pairs.scalars == kTemperature ? ", or its temperature is not positive" : ""));
}

void EngineBase::judge_bonds_of_all(std::uint32_t stretched, std::uint32_t broken) {
  std::int64_t of_all[2] = {stretched, broken};
  // The largest tag, so that all ranks name the same particle.
  if (has_bonded_terms(settings_)) maximum(of_all, 2);
  judge_bonds(static_cast<std::uint32_t>(of_all[0]), static_cast<std::uint32_t>(of_all[1]));
}

void EngineBase::judge_bonds(std::uint32_t stretched, std::uint32_t broken) {
  energy_and_virial_.stretched = stretched;
  if (!broken) return;
  const bool tables = std::ranges::any_of(
      settings_.bonds, [](const BondCoefficients& bond) { return bond.form == kTabulatedBond; });
  throw BrokenBond(text_of("bad ", tables ? "" : "FENE ", "bond: a bond of particle ", broken,
                           " was ",
                           tables ? "outside of its table" : "longer than twice its largest length",
                           " before step ", step_));
}

void EngineBase::reach_farther(const MissingPartners& missing, std::int64_t step) {
  const auto& [of_bond, of_others] = missing.tag;
  const bool only_angles = settings_.dihedrals.empty() && settings_.impropers.empty();
  const char* const kind = of_bond       ? "a bond"
                           : only_angles ? "an angle"
                                         : "an angle, a dihedral or an improper";
  const std::int64_t tag = of_bond ? of_bond : of_others;
  if (!communicator_)
    throw BrokenBond(text_of(kind, " of particle ", tag, " has a partner that does not exist"));
  if (reach_ >= settings_.bonded_reach)
    throw BrokenBond(text_of(kind, " of particle ", tag, " reaches farther at step ", step,
                             " than ", reach_, ", the distance up to which ranks know each ",
                             "other's particles; a larger comm_modify cutoff raises it"));
  // Little by little, because a longer reach means more ghosts in every step.
  constexpr double kGrowth = 1.25;
  reach_ = std::min(kGrowth * reach_, settings_.bonded_reach);
}

void EngineBase::advance_guarded(std::int64_t steps, bool (*interrupted)(), bool sums) {
  constexpr std::int64_t kNowAndThen = 64;
  std::int64_t end = step_ + std::max<std::int64_t>(steps, 0);
  const bool chain = settings_.thermostat.chain > 0;
  while (step_ < end) {
    const std::int64_t stop = chain ? step_ + 1 : std::min(end, next_change());
    std::int64_t interrupt = 0;
    if (stop < end && step_ % kNowAndThen == 0) {
      interrupt = interrupted && interrupted();
      maximum(&interrupt, 1);
    }
    if (interrupt) end = stop;
    sums_wanted_ = stop == end && (sums || interrupt);
    // Half a step of the thermostat before the particles' step and half a step after it.
    if (chain) follow_chain();
    take(stop - step_, interrupted);
    if (chain) {
      measure_temperature();
      follow_chain();
    }
    // At the end the changes are left to the caller; before `stop` the call was interrupted.
    if (step_ == end || step_ != stop) return;
    change_velocities_guarded();
  }
}

void EngineBase::change_velocities_guarded() {
  for (std::size_t k = 0; k < settings_.velocity_changes.size(); ++k) {
    const VelocityChange& change = settings_.velocity_changes[k];
    if (step_ % change.every != 0) continue;
    const VelocityMap map =
        map_of(change, moment_units_.scale(), of_all_ranks(own_moments({change.measured})),
               target_of(k, step_), temperature_drops_[k]);
    // In the order of the settings: the next change measures what this one has left.
    if (map.changes_something()) apply_map(map, change.flag);
  }
}

std::array<double, 6> EngineBase::kinetic_sums() {
  std::array<double, 6> all;
  guarded([&] {
    // Positive numbers have the order of their bits.
    auto largest = std::bit_cast<std::int64_t>(own_largest_square());
    maximum(&largest, 1);
    const auto square = std::bit_cast<double>(largest);
    const double finer = finer_units(square);
    for (const bool mixed : {false, true}) {
      const Moments sums = of_all_ranks(own_moments({0, mixed, finer}));
      for (int k = 0; k < 3; ++k)
        all[3 * mixed + k] =
            std::isfinite(square) ? moment_units_.scale().square(sums, k) / finer : square;
    }
  });
  return all;
}

std::vector<double> EngineBase::profile(const Profile& profile) {
  std::vector<double> sums(profile.sums());
  guarded([&] {
    std::vector<double> largest, units;
    for (const std::int64_t bits : own_profile(profile, nullptr)) {
      largest.push_back(std::bit_cast<double>(bits));
      units.push_back(finer_units(largest.back()));
    }
    const ProfileWords& words = own_profile(profile, units.data());
    for (std::size_t k = 0; k < sums.size(); ++k) {
      const std::size_t c = k % units.size();
      Moments sum;
      sum.word[0] = words[2 * k];
      sum.word[Moments::kSums] = words[2 * k + 1];
      sums[k] = std::isfinite(largest[c]) ? sum.units(0) / units[c] : largest[c];
    }
  });
  return sums;
}

void EngineBase::scale_velocities(const double factor[3]) {
  VelocityMap map;
  std::copy_n(factor, 3, map.scale);
  guarded([&] { apply_map(map, kIntegrated); });
}

void EngineBase::set_box(const Box& way, const Box& next) {
  check_dilation(settings_, way);
  check_dilation(settings_, next);
  parameters_change();
  change_box(way, next);
}

Moments EngineBase::of_all_ranks(Moments sums) const {
  // Sums of integers: the order of particles and ranks does not matter.
  if (communicator_) communicator_->sum(sums.word, 2 * Moments::kSums);
  return sums;
}

void EngineBase::measure_temperature() {
  // N_f k_B T = sum of m v^2, relative to the flow.
  const Moments sums = of_all_ranks(own_moments({kIntegrated}));
  chain_.measure(settings_.thermostat.temperature_of_sum * moment_units_.scale().square(sums));
}

void EngineBase::follow_chain() {
  // v becomes e^(-v_1 dt/2) v, and loses the gradient of the flow times v dt/2.
  apply_map(sllod_half_step(chain_.half_step(), settings_.time_step, settings_.shear), kIntegrated);
}

std::int64_t EngineBase::next_change() const {
  const auto after = [this](std::int64_t step) {
    std::int64_t next = kNever;
    for (const VelocityChange& change : settings_.velocity_changes)
      next = std::min(next, (step / change.every + 1) * change.every);
    return next;
  };
  std::int64_t next = after(step_);
  // So many are enough for one call of take().
  for (int k = 0; k < 4096 && changes_in_stride() && next != kNever && only_change_of(next) >= 0;
       ++k)
    next = after(next);
  return next;
}

}  // namespace manymove::dpd
