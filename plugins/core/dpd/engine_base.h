// SPDX-License-Identifier: BSD-3-Clause
// What the resident engines have in common: whose turn it is, what is checked, what is counted.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>
#include <unordered_set>
#include <utility>
#include <vector>

#include "../runtime/text.h"
#include "engine.h"
#include "nose_hoover.h"
#include "settings.h"
#include "velocity_changes.h"

namespace manymove::dpd {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

// List entries have 30 bits for an index: of a rank's own particles and its ghosts together.
inline int checked_count(std::int64_t particles) {
  if (particles < 0 || particles > kIndexBits)
    throw std::invalid_argument(text_of(
        "at most ", kIndexBits, " particles, ghosts included, on one rank, not ", particles));
  return static_cast<int>(particles);
}

inline void add_to(EnergyAndVirial& sum, const EnergyAndVirial& part) {
  sum.pair_energy += part.pair_energy;
  sum.bond_energy += part.bond_energy;
  sum.angle_energy += part.angle_energy;
  for (int a = 0; a < 6; ++a) {
    sum.pair_virial[a] += part.pair_virial[a];
    sum.bond_virial[a] += part.bond_virial[a];
    sum.angle_virial[a] += part.angle_virial[a];
  }
}

// Tags of particles whose partner in a bond, and in an angle, is not known to a rank; 0: none.
struct Missing {
  std::int64_t tag[2] = {};
  bool any() const { return tag[0] != 0 || tag[1] != 0; }
};

class EngineBase : public Engine {
 public:
  explicit EngineBase(const Settings& settings)
      : settings_(settings),
        moment_units_(settings),
        temperature_drops_(settings.velocity_changes.size()),
        chain_(settings.thermostat, settings.time_step) {
    const auto size = static_cast<std::size_t>(settings.pairs.types + 1);
    const PairCoefficients* pairs = settings.pairs.coefficients;
    tables_.push_back({0, {pairs, pairs + size * size}, settings.bonds, settings.angles});
    settings_.pairs.coefficients = tables_[0].pairs.data();
    frame_.box = settings.box;
  }
  std::int64_t step() const override { return step_; }
  double tilt(std::int64_t step) const final {
    return tilt_since_begin(step) -
           static_cast<double>(periods_of_tilt(step)) * settings_.box.extent[0];
  }
  EnergyAndVirial energy_and_virial() const override { return energy_and_virial_; }
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

  // With a change of velocities in every step, interruption is checked only from time to time.
  void advance(std::int64_t steps, bool (*interrupted)()) final {
    constexpr std::int64_t kNowAndThen = 64;
    const std::int64_t end = step_ + std::max<std::int64_t>(steps, 0);
    const bool chain = settings_.thermostat.chain > 0;
    while (step_ < end) {
      const std::int64_t stop = chain ? step_ + 1 : std::min(end, next_change());
      if (chain) follow_chain();
      take(stop - step_, interrupted);
      if (chain) {
        measure_temperature();
        follow_chain();
      }
      if (step_ == end || step_ != stop) return;
      if (step_ % kNowAndThen == 0 && wants_to_stop(interrupted)) return;
      change_velocities();
    }
  }
  void change_velocities() final {
    for (std::size_t k = 0; k < settings_.velocity_changes.size(); ++k) {
      const VelocityChange& change = settings_.velocity_changes[k];
      if (step_ % change.every != 0) continue;
      const Moments sums = moments(change.measured, moment_units_.by_type());
      const VelocityMap map =
          map_of(change, moment_units_.scale(), sums, target_of(k, step_), temperature_drops_[k]);
      if (map.changes_something()) apply_map(map, change.flag);
    }
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
  // The steps of advance(), without changes of velocities but those in stride before the last step.
  // Collective, as are the others.
  virtual void take(std::int64_t steps, bool (*interrupted)()) = 0;
  // Whether take() makes the only change of velocities that is due at a step.
  virtual bool changes_in_stride() const { return false; }
  // Whether a rank is interrupted.
  virtual bool wants_to_stop(bool (*interrupted)()) { return interrupted && interrupted(); }
  // Sums over the particles of all ranks with this bit in their flags.
  virtual Moments moments(std::uint32_t flag, const std::vector<double>& units) = 0;
  virtual void apply_map(const VelocityMap& map, std::uint32_t flag) = 0;
  // tables() has changed.
  virtual void take_coefficients() = 0;
  // Steps before the present one can no longer be repeated, because the series of their values and
  // coefficients is lost.
  virtual void parameters_change() {}

  // Coefficients in the order of their steps; the first ones are those of the settings and of the
  // present step.
  const std::vector<Coefficients>& tables() const { return tables_; }
  // The index of the coefficients for the forces of a step.
  std::size_t table_of(std::int64_t step) const {
    const auto later = std::upper_bound(
        tables_.begin() + 1, tables_.end(), step,
        [](std::int64_t at, const Coefficients& table) { return at < table.from; });
    return static_cast<std::size_t>(later - tables_.begin()) - 1;
  }
  // The settings with other coefficients, which must outlive them.
  Settings settings_with(const Coefficients& table) const {
    Settings settings = settings_;
    settings.pairs.coefficients = table.pairs.data();
    settings.bonds = table.bonds;
    settings.angles = table.angles;
    return settings;
  }
  std::vector<Settings> settings_of_tables() const {
    std::vector<Settings> all;
    for (const Coefficients& table : tables_) all.push_back(settings_with(table));
    return all;
  }
  // is_plain() for the coefficients of all steps.
  bool is_plain_with(bool specials, bool in_any_box = false) const {
    return std::all_of(tables_.begin(), tables_.end(), [&](const Coefficients& table) {
      return is_plain(settings_with(table), specials, in_any_box);
    });
  }

  // The only change of velocities that is due at a step; -1 if there is none, or more than one.
  int only_change_of(std::int64_t step) const {
    int only = -1, due = 0;
    for (std::size_t k = 0; k < settings_.velocity_changes.size(); ++k)
      if (step % settings_.velocity_changes[k].every == 0) only = static_cast<int>(k), ++due;
    return due == 1 ? only : -1;
  }
  // The temperature that change k has as its target.
  double target_of(std::size_t k, std::int64_t step) const {
    const std::size_t changes = settings_.velocity_changes.size();
    const double* values = parameters_of_step(step);
    return values ? values[parameters_per_step() - changes + k]
                  : settings_.velocity_changes[k].temperature;
  }

  [[noreturn]] static void refuse_particle(std::uint32_t tag, const double r[3]) {
    throw std::invalid_argument(text_of("particle ", tag, " at (", r[0], ", ", r[1], ", ", r[2],
                                        ") is outside the box, or not at a finite place"));
  }
  [[noreturn]] static void refuse_at_rest(std::uint32_t tag) {
    throw std::invalid_argument(
        text_of("particle ", tag, " does not move, but the box is sheared"));
  }
  static void check_velocities(int count, const std::uint32_t* tag, const double (*velocity)[3]) {
    for (int i = 0; i < count; ++i) {
      const double* v = velocity[i];
      if (!std::isfinite(v[0] + v[1] + v[2]))
        throw std::invalid_argument(text_of("the velocity of particle ", tag[i], " is not finite"));
    }
  }
  [[noreturn]] void lose_particle(std::uint32_t tag) const {
    throw LostParticle(text_of("particle ", tag, " was lost before step ", step_,
                               ": it left the box or moved by a quarter of it in one step"));
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
  // the largest.
  void reach_farther(const Missing& missing, std::int64_t step) {
    const auto& [of_bond, of_angle] = missing.tag;
    if (reach_ >= settings_.bonded_reach)
      throw BrokenBond(text_of(of_bond ? "a bond" : "an angle", " of particle ",
                               of_bond ? of_bond : of_angle, " reaches farther at step ", step,
                               " than ", reach_, ", the distance up to which ranks know each ",
                               "other's particles; a larger comm_modify cutoff raises it"));
    constexpr double kGrowth = 1.25;
    reach_ = std::min(kGrowth * reach_, settings_.bonded_reach);
  }
  void set_clock(Clock clock) {
    step_ = clock.step;
    draws_ahead_ = clock.draw - static_cast<std::uint64_t>(clock.step);
  }
  std::uint64_t draw_of(std::int64_t step) const {
    return static_cast<std::uint64_t>(step) + draws_ahead_;
  }
  NoiseKey key_of(std::int64_t step) const { return noise_key(settings_.seed, draw_of(step)); }
  // What changes from step to step.
  template <class P>
  void set_noise(Forces<P>& forces, std::int64_t step) const {
    using Real = typename P::Real;
    forces.noise = key_of(step);
    const NoiseRamp& ramp = settings_.pairs.ramp;
    forces.noise_scale = ramp.is_constant() ? Real(1) : static_cast<Real>(ramp.factor(step));
  }
  template <class P>
  void set_time(Motion<P>& motion, std::int64_t step) const {
    using Real = typename P::Real;
    const std::uint64_t draw = draw_of(step);
    motion.draw[0] = static_cast<std::uint32_t>(draw);
    motion.draw[1] = static_cast<std::uint32_t>(draw >> 32);
    const std::size_t thermostats = settings_.langevin_thermostats.size();
    const double* value = parameters_of_step(step);
    for (std::size_t k = 0; k < thermostats; ++k)
      motion.thermostat[k].root = square_root(
          static_cast<Real>(value ? value[k] : settings_.langevin_thermostats[k].temperature));
    for (std::size_t k = 0; k < settings_.body_forces.size(); ++k) {
      const double* force = value ? value + thermostats + 3 * k : settings_.body_forces[k].force;
      motion.body[k].x = static_cast<Real>(force[0]);
      motion.body[k].y = static_cast<Real>(force[1]);
      motion.body[k].z = static_cast<Real>(force[2]);
    }
  }
  void check_topology(int count, const Topology& topology) const {
    checked_count(count);
    for (int i = 0; i < count; ++i) {
      if (topology.tag[i] == 0) throw std::invalid_argument("a particle has tag 0");
      if (topology.type[i] < 1 || topology.type[i] > settings_.pairs.types)
        throw std::invalid_argument(
            text_of("particle ", topology.tag[i], " has type ", topology.type[i]));
    }
    if (topology.first_bond) check_bonds(count, topology);
  }
  // On several ranks partners may be on others.
  void check_bonds(int count, const Topology& topology) const {
    const bool alone = settings_.grid.rank.size() < 2;
    std::unordered_set<std::uint32_t> tags;
    if (alone) tags.insert(topology.tag, topology.tag + count);
    for (int i = 0; i < count; ++i) {
      for (int k = topology.first_bond[i]; k < topology.first_bond[i + 1]; ++k) {
        const int kind = topology.bond_type[k], role = kind & ~kBondedType,
                  type = kind & kBondedType;
        const std::size_t types = role == 0 ? settings_.bonds.size() : settings_.angles.size();
        if (role != kSecondOfAngle && (type < 1 || static_cast<std::size_t>(type) >= types))
          throw std::invalid_argument(text_of("particle ", topology.tag[i], " has ",
                                              role == 0 ? "a bond" : "an angle", " of type ",
                                              type));
        if (alone && !tags.count(topology.bond_partner[k]))
          throw std::invalid_argument(text_of("particle ", topology.tag[i], " is bonded to ",
                                              topology.bond_partner[k], ", which is missing"));
      }
    }
  }

  Settings settings_;
  const MomentUnits moment_units_;
  std::vector<double> temperature_drops_;
  NoseHooverChain chain_;
  BoxFrame frame_;
  std::int64_t step_ = 0;
  EnergyAndVirial energy_and_virial_;
  EngineCounters counters_;

  // ---- shear ----

  bool is_sheared() const { return settings_.shear.rate != 0; }
  // By how much the tilt grows in a step.
  double tilt_of_step() const {
    return settings_.shear.rate * settings_.box.extent[1] * settings_.time_step;
  }
  // How many times the box has been replaced by the equivalent one whose tilt is smaller by the
  // extent along x.
  std::int64_t periods_of_tilt(std::int64_t step) const {
    return is_sheared() ? std::llround(tilt_since_begin(step) / settings_.box.extent[0]) : 0;
  }
  // Positions are those of this step in the box of its tilt.
  void set_tilt(std::int64_t step) {
    frame_.box.tilt[0] = tilt(step);
    periods_ = periods_of_tilt(step);
  }
  bool has_tilt_of(std::int64_t step) const { return periods_ == periods_of_tilt(step); }
  // Replaces the box by the equivalent one of smaller or larger tilt, as often as the tilt of a
  // step needs. change(smaller) gives the particles their places in it.
  template <class Change>
  void replace_box(std::int64_t step, const Change& change) {
    while (!has_tilt_of(step)) {
      const bool smaller = periods_ < periods_of_tilt(step);
      change(smaller);
      periods_ += smaller ? 1 : -1;
    }
  }
  // The settings with the box that is tilted most.
  Settings settings_of_tilted_box() const {
    Settings tilted = settings_;
    if (is_sheared())
      tilted.box.tilt[0] = 0.5 * settings_.box.extent[0] + std::fabs(tilt_of_step());
    return tilted;
  }
  // The frame of a step under shear, or the frame so many steps later of the box that has not been
  // replaced in between.
  template <class P>
  Frame<P> frame_of_step(std::int64_t step, int later) const {
    Box box = settings_.box;
    box.tilt[0] = tilt(step);
    if (later) box.tilt[0] += later * tilt_of_step();
    Frame<P> frame = frame_of<P>(box);
    frame.tilted = 1;
    return frame;
  }
  void tilt_cells(Cells& cells, std::int64_t step) const {
    const Frame<Mixed> frame = frame_of_step<Mixed>(step, 0);
    cells.xy = frame.xy;
    cells.to_xy = frame.to_xy;
  }
  // Balls for the next lists, after some that held for so many steps; zero: there were none. Under
  // shear they leave a share of the skin to it, by which lists then reach farther.
  void find_balls(Cells& cells, std::int64_t held) {
    if (is_sheared()) {
      constexpr double kMost = 0.2, kMargin = 1.25;
      share_of_shear_ =
          held > 0 ? std::min(kMost, kMargin * share_after(static_cast<double>(held))) : kMost;
      cells.largest_radius = largest_radius_of(settings_, share_of_shear_);
      lengthen_reach(cells, settings_, share_of_shear_);
    }
    look_ahead(cells, settings_.time_step, held);
  }
  // Lists hold until shear has brought places of lists closer than their share of the skin.
  bool shear_ends_lists(std::int64_t built, std::int64_t step) const {
    return share_after(static_cast<double>(step - built)) > share_of_shear_;
  }
  // Whether they do not hold in the step after this one, because of shear or a flip of the box.
  bool lists_end_after(std::int64_t built, std::int64_t step) const {
    return shear_ends_lists(built, step + 1) || periods_of_tilt(step + 1) != periods_of_tilt(step);
  }
  // The first step after a build whose positions need other lists because of shear, but at most
  // `most` steps later.
  std::int64_t end_of_sheared_lists(std::int64_t built, std::int64_t most) const {
    std::int64_t step = built + 1;
    while (step < built + most && !lists_end_after(built, step - 1)) ++step;
    return step;
  }
  // Gives the tilt of a step to what a kernel of this step takes, which has that of
  // settings_of_tilted_box().
  template <class Step>
  void tilt_step(Step& s, std::int64_t number) const {
    s.forces.frame = frame_of_step<typename Step::Precision>(number, 0);
    s.motion.frame = frame_of_step<typename Step::Precision>(number, 1);
    tilt_cells(s.cells, number);
    const auto share = static_cast<float>(tilt(number) / settings_of_tilted_box().box.tilt[0]);
    s.shorts.xy *= share;
    s.density_shorts.xy *= share;
  }

 private:
  double share_after(double steps) const {
    const double strain = std::fabs(settings_.shear.rate) * settings_.time_step * steps;
    return strain * (settings_.cutoff + settings_.skin) / settings_.skin;
  }
  double tilt_since_begin(std::int64_t step) const {
    const double first = settings_.box.tilt[0];
    return is_sheared() ? first + tilt_of_step() * static_cast<double>(step - settings_.shear.begin)
                        : first;
  }
  void measure_temperature() {
    const Moments sums = moments(kIntegrated, moment_units_.by_type());
    chain_.measure(settings_.thermostat.temperature_of_sum * moment_units_.scale().square(sums));
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
  std::size_t parameters_per_step() const {
    return settings_.langevin_thermostats.size() + 3 * settings_.body_forces.size() +
           settings_.velocity_changes.size();
  }
  // What the series has for a step; null if it has nothing.
  const double* parameters_of_step(std::int64_t step) const {
    if (step < series_.first) return nullptr;
    const std::size_t at = static_cast<std::size_t>(step - series_.first) * parameters_per_step();
    return at < series_.values.size() ? series_.values.data() + at : nullptr;
  }

  ParameterSeries series_;
  double reach_ = settings_.cutoff + settings_.skin;  // how far a rank knows others' particles
  std::int64_t periods_ = 0;                          // periods_of_tilt() of the positions
  double share_of_shear_ = 0;                         // in the skin of the present lists
  std::uint64_t draws_ahead_ = 0;  // number of a draw minus its step, modulo 2^64
  std::vector<Coefficients> tables_;
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
template <class P>
std::unique_ptr<Engine> make_cuda_engine(const Settings& settings, int device,
                                         Communicator* communicator);
#endif

}  // namespace manymove::dpd
