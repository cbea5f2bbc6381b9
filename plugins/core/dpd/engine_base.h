// SPDX-License-Identifier: BSD-3-Clause
// What the resident engines have in common: whose turn it is, what is checked, what is counted.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "../parallel/communicator.h"
#include "../runtime/text.h"
#include "engine.h"
#include "nose_hoover.h"
#include "sheared_box.h"
#include "velocity_changes.h"

namespace manymove::dpd {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

inline void add_to(EnergySum& sum, const EnergySum& part) {
  sum.energy += part.energy;
  for (int a = 0; a < 6; ++a) sum.virial[a] += part.virial[a];
}
inline void add_to(EnergyAndVirial& sum, const EnergyAndVirial& part) {
  add_to(sum.pairs, part.pairs);
  add_to(sum.bonds, part.bonds);
  add_to(sum.angles, part.angles);
}

// Tags of particles whose partner in a bond, and in an angle, is not known to a rank; 0: none.
struct MissingPartners {
  std::int64_t tag[2] = {};
  bool any() const { return tag[0] != 0 || tag[1] != 0; }
};

class EngineBase : public Engine, protected ShearedBox {
 public:
  // communicator: null for one rank.
  EngineBase(const Settings& settings, Communicator* communicator)
      : ShearedBox(settings),
        communicator_(communicator),
        moment_units_(settings),
        temperature_drops_(settings.velocity_changes.size()),
        chain_(settings.thermostat, settings.time_step) {}
  std::int64_t step() const override { return step_; }
  double tilt(std::int64_t step) const final { return tilt_of(step); }
  EnergyAndVirial energy_and_virial() const override { return energy_and_virial_; }
  void upload(const HostArrays& arrays, const Topology& topology, Clock clock) final {
    guarded([&] {
      check_together([&] {
        check_topology(settings_, arrays.count, topology);
        check_velocities(arrays.count, topology.tag, arrays.velocity);
      });
      set_clock(clock);
      set_tilt(step_);
      energy_and_virial_ = {};
      take_particles(arrays, topology);
    });
  }
  void set_particles(int count, const std::uint32_t* tag, const double (*position)[3],
                     const double (*velocity)[3]) final {
    guarded([&] {
      check_together([&] { check_velocities(count, tag, velocity); });
      const std::optional<Misplaced> misplaced = replace(count, tag, position, velocity);
      check_together([&] {
        if (misplaced) refuse_particle(misplaced->tag, misplaced->position);
      });
    });
  }
  void set_parameter_series(ParameterSeries series) final {
    std::vector<Coefficients> tables(1, tables_[table_of(step_)]);
    for (Coefficients& each : series.coefficients) {
      if (each.pairs.size() != tables[0].pairs.size() ||
          each.bonds.size() != tables[0].bonds.size() ||
          each.angles.size() != tables[0].angles.size() || each.from <= step_ ||
          each.from < tables.back().from)
        throw std::invalid_argument("a series has coefficients of other types or steps");
      check_settings(settings_with(each));
      tables.push_back(std::move(each));
    }
    series.coefficients.clear();
    if (tables.size() > 1 || tables_.size() > 1 || !series.values.empty() ||
        !series_.values.empty())
      parameters_change();
    series_ = std::move(series);
    if (tables.size() == 1 && tables_.size() == 1) return;
    tables_ = std::move(tables);
    settings_ = settings_with(tables_[0]);
    take_coefficients();
  }

  void advance(std::int64_t steps, bool (*interrupted)()) final {
    guarded([&] { advance_guarded(steps, interrupted); });
  }
  void change_velocities() final {
    guarded([&] { change_velocities_guarded(); });
  }
  const std::vector<double>& temperature_drops() const final { return temperature_drops_; }
  void set_thermostat(NoseHooverState state) final {
    const auto chain = static_cast<std::size_t>(settings_.thermostat.chain);
    if (state.position.size() != chain || state.velocity.size() != chain)
      throw std::invalid_argument("the state of the thermostat has another chain length");
    chain_.start(std::move(state));
  }
  const NoseHooverState& thermostat() const final { return chain_.state(); }

 protected:
  struct Misplaced {
    std::uint32_t tag;
    double position[3];
  };
  // upload() and set_particles(), after their checks. Throws std::invalid_argument, on all ranks,
  // for a position that cannot be.
  virtual void take_particles(const HostArrays& arrays, const Topology& topology) = 0;
  // Returns a particle of this rank whose position cannot be, if there is one.
  virtual std::optional<Misplaced> replace(int count, const std::uint32_t* tag,
                                           const double (*position)[3],
                                           const double (*velocity)[3]) = 0;
  // The steps of advance(), without changes of velocities but those in stride before the last step.
  // Collective, as are the others.
  virtual void take(std::int64_t steps, bool (*interrupted)()) = 0;
  // Whether take() makes the only change of velocities that is due at a step.
  virtual bool changes_in_stride() const { return false; }
  // Runs the task of a public call that is collective, or uses the device.
  virtual void guarded(const std::function<void()>& task) { task(); }
  // Sums over this rank's particles with this bit in their flags.
  virtual Moments own_moments(std::uint32_t flag) = 0;
  virtual void apply_map(const VelocityMap& map, std::uint32_t flag) = 0;
  // tables() has changed.
  virtual void take_coefficients() = 0;
  // Steps before the present one can no longer be repeated, because the series of their values and
  // coefficients is lost.
  virtual void parameters_change() {}

  // The only change of velocities that is due at a step; -1 if there is none, or more than one.
  int only_change_of(std::int64_t step) const {
    int only = -1, due = 0;
    for (std::size_t k = 0; k < settings_.velocity_changes.size(); ++k)
      if (step % settings_.velocity_changes[k].every == 0) only = static_cast<int>(k), ++due;
    return due == 1 ? only : -1;
  }
  [[noreturn]] static void refuse_particle(std::uint32_t tag, const double r[3]) {
    refuse("particle ", tag, " at (", r[0], ", ", r[1], ", ", r[2],
           ") is outside the box, or not at a finite place");
  }
  static void check_velocities(int count, const std::uint32_t* tag, const double (*velocity)[3]) {
    for (int i = 0; i < count; ++i)
      if (const double* v = velocity[i]; !std::isfinite(v[0] + v[1] + v[2]))
        refuse("the velocity of particle ", tag[i], " is not finite");
  }
  [[noreturn]] void lose_particle(std::uint32_t tag) const {
    throw LostParticle(text_of("particle ", tag, " was lost before step ", step_,
                               ": it left the box or moved by a quarter of it in one step"));
  }
  // The values become their maxima over all ranks, of which each makes the same calls.
  void maximum(std::int64_t* values, std::size_t count) const {
    if (communicator_) communicator_->maximum(values, count);
  }
  // Calls check(); what it throws on one rank is thrown on all.
  template <class Check>
  void check_together(const Check& check) const {
    if (communicator_)
      together(*communicator_, check);
    else
      check();
  }
  // Tags of particles with stretched and with broken bonds on this rank, or 0. Collective.
  void judge_bonds_of_all(std::uint32_t stretched, std::uint32_t broken) {
    std::int64_t of_all[2] = {stretched, broken};
    if (has_bonded_terms(settings_)) maximum(of_all, 2);
    judge_bonds(static_cast<std::uint32_t>(of_all[0]), static_cast<std::uint32_t>(of_all[1]));
  }
  // During or after an advance(); stretched and broken are those of all ranks.
  void judge_bonds(std::uint32_t stretched, std::uint32_t broken) {
    energy_and_virial_.stretched = stretched;
    if (broken)
      throw BrokenBond(text_of("bad FENE bond: a bond of particle ", broken,
                               " was longer than twice its largest length before step ", step_));
  }
  // Distance beyond cutoff and skin up to which a rank knows the particles of other ranks.
  double beyond_lists() const { return reach_ - (settings_.cutoff + settings_.skin); }
  // Partners are missing at a step: extends the reach of ranks. Throws BrokenBond if it is already
  // the largest, or if there are no other ranks.
  void reach_farther(const MissingPartners& missing, std::int64_t step) {
    const auto& [of_bond, of_angle] = missing.tag;
    const char* const kind = of_bond ? "a bond" : "an angle";
    const std::int64_t tag = of_bond ? of_bond : of_angle;
    if (!communicator_)
      throw BrokenBond(text_of(kind, " of particle ", tag, " has a partner that does not exist"));
    if (reach_ >= settings_.bonded_reach)
      throw BrokenBond(text_of(kind, " of particle ", tag, " reaches farther at step ", step,
                               " than ", reach_, ", the distance up to which ranks know each ",
                               "other's particles; a larger comm_modify cutoff raises it"));
    constexpr double kGrowth = 1.25;
    reach_ = std::min(kGrowth * reach_, settings_.bonded_reach);
  }

  Communicator* const communicator_;
  const MomentUnits moment_units_;
  std::vector<double> temperature_drops_;
  NoseHooverChain chain_;
  EnergyAndVirial energy_and_virial_;
  EngineCounters counters_;

 private:
  // With a change of velocities in every step, interruption is checked only from time to time.
  void advance_guarded(std::int64_t steps, bool (*interrupted)()) {
    constexpr std::int64_t kNowAndThen = 64;
    const std::int64_t end = step_ + std::max<std::int64_t>(steps, 0);
    const bool chain = settings_.thermostat.chain > 0;
    while (step_ < end) {
      const std::int64_t stop = chain ? step_ + 1 : std::min(end, next_change());
      // Half a step of the thermostat before the particles' step and half a step after it.
      if (chain) follow_chain();
      take(stop - step_, interrupted);
      if (chain) {
        measure_temperature();
        follow_chain();
      }
      if (step_ == end || step_ != stop) return;
      std::int64_t interrupt = 0;
      if (step_ % kNowAndThen == 0) {
        interrupt = interrupted && interrupted();
        maximum(&interrupt, 1);
      }
      if (interrupt) return;
      change_velocities_guarded();
    }
  }
  void change_velocities_guarded() {
    for (std::size_t k = 0; k < settings_.velocity_changes.size(); ++k) {
      const VelocityChange& change = settings_.velocity_changes[k];
      if (step_ % change.every != 0) continue;
      const VelocityMap map = map_of(change, moment_units_.scale(), moments(change.measured),
                                     target_of(k, step_), temperature_drops_[k]);
      if (map.changes_something()) apply_map(map, change.flag);
    }
  }
  Moments moments(std::uint32_t flag) {
    Moments sums = own_moments(flag);
    // Sums of integers: the order of particles and ranks does not matter.
    if (communicator_) communicator_->sum(sums.word, 2 * Moments::kSums);
    return sums;
  }
  void measure_temperature() {
    chain_.measure(settings_.thermostat.temperature_of_sum *
                   moment_units_.scale().square(moments(kIntegrated)));
  }
  void follow_chain() {
    apply_map(sllod_half_step(chain_.half_step(), settings_.time_step, settings_.shear.rate),
              kIntegrated);
  }
  std::int64_t next_change() const {
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
  double reach_ = settings_.cutoff + settings_.skin;  // how far a rank knows others' particles
};

// ---- the engines of each backend, of which make_engine() chooses one ----
//
// The settings have been checked; a communicator has several ranks and is null for one. Collective
// if it is not null.

// threads: at least one.
std::unique_ptr<Engine> make_cpu_engine(const Settings& settings, int threads,
                                        Communicator* communicator);
#if defined(MANYMOVE_HAVE_CUDA)
// P: Mixed or Double. device: the index of a CUDA device, negative for the current one of the
// calling thread.
template <Precision P>
std::unique_ptr<Engine> make_cuda_engine(const Settings& settings, int device,
                                         Communicator* communicator);
#endif

}  // namespace manymove::dpd
