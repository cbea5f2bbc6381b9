// SPDX-License-Identifier: BSD-3-Clause
// What the resident engines have in common: whose turn it is, what is checked, what is counted.
#pragma once

#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>
#include <unordered_set>
#include <utility>
#include <vector>

#include "../runtime/text.h"
#include "engine.h"
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

inline void add_to(Tally& sum, const Tally& part) {
  sum.pair_energy += part.pair_energy;
  sum.bond_energy += part.bond_energy;
  sum.angle_energy += part.angle_energy;
  for (int a = 0; a < 6; ++a) {
    sum.pair_virial[a] += part.pair_virial[a];
    sum.bond_virial[a] += part.bond_virial[a];
    sum.angle_virial[a] += part.angle_virial[a];
  }
}

class EngineBase : public Engine {
 public:
  explicit EngineBase(const Settings& settings)
      : settings_(settings),
        moment_units_(settings),
        temperature_drops_(settings.velocity_changes.size()) {
    const auto size = static_cast<std::size_t>(settings.pairs.types + 1);
    coefficients_.assign(settings.pairs.coefficients, settings.pairs.coefficients + size * size);
    settings_.pairs.coefficients = coefficients_.data();
    frame_.box = settings.box;
  }
  std::int64_t step() const override { return step_; }
  Tally tally() const override { return tally_; }
  void set_course(Course course) override { course_ = std::move(course); }

  // With a change of velocities in every step, interruption is checked only from time to time.
  void advance(std::int64_t steps, bool (*interrupted)()) final {
    constexpr std::int64_t kNowAndThen = 64;
    const std::int64_t end = step_ + std::max<std::int64_t>(steps, 0);
    while (step_ < end) {
      const std::int64_t stop = std::min(end, next_change());
      take(stop - step_, interrupted);
      if (step_ == end || step_ != stop) return;
      if (step_ % kNowAndThen == 0 && wants_to_stop(interrupted)) return;
      change_velocities();
    }
  }
  void change_velocities() final {
    for (std::size_t k = 0; k < settings_.velocity_changes.size(); ++k) {
      const VelocityChange& change = settings_.velocity_changes[k];
      if (step_ % change.every != 0) continue;
      const double* values = course_values(step_);
      const double target = values ? values[course_width() - settings_.velocity_changes.size() + k]
                                   : change.temperature;
      const Moments sums = moments(change.measured, moment_units_.by_type());
      const VelocityMap map = map_of(change, moment_units_, sums, target, temperature_drops_[k]);
      if (map.changes_something()) apply_map(map, change.flag);
    }
  }
  const std::vector<double>& temperature_drops() const final { return temperature_drops_; }

 protected:
  // The steps of advance(), without changes of velocities. Collective, as are the others.
  virtual void take(std::int64_t steps, bool (*interrupted)()) = 0;
  // Whether a rank is interrupted.
  virtual bool wants_to_stop(bool (*interrupted)()) { return interrupted && interrupted(); }
  // Sums over the particles of all ranks with this bit in their flags.
  virtual Moments moments(std::uint32_t flag, const std::vector<double>& units) = 0;
  virtual void apply_map(const VelocityMap& map, std::uint32_t flag) = 0;

  [[noreturn]] static void refuse_particle(std::uint32_t tag, const double r[3]) {
    throw std::invalid_argument(text_of("particle ", tag, " at (", r[0], ", ", r[1], ", ", r[2],
                                        ") is outside the box, or not at a finite place"));
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
    tally_.stretched = stretched;
    if (broken)
      throw BrokenBond(text_of("bad FENE bond: a bond of particle ", broken,
                               " was longer than twice its largest length before step ", step_));
  }
  // Error of a bond on a rank that does not hold the partner.
  [[noreturn]] void miss_partner(std::uint32_t tag) const {
    throw std::runtime_error(text_of("a bond of particle ", tag, " is longer at step ", step_,
                                     " than cutoff and skin: its partner is missing"));
  }
  void set_clock(Clock clock) {
    step_ = clock.step;
    draws_ahead_ = clock.draw - static_cast<std::uint64_t>(clock.step);
  }
  NoiseKey key_of(std::int64_t step) const {
    return noise_key(settings_.seed, static_cast<std::uint64_t>(step) + draws_ahead_);
  }
  // What changes from step to step.
  template <class P>
  void set_noise(Forces<P>& forces, std::int64_t step) const {
    using Real = typename P::Real;
    forces.noise = key_of(step);
    if (settings_.pairs.transverse) forces.third_noise = transverse_key(forces.noise);
    const NoiseRamp& ramp = settings_.pairs.ramp;
    forces.noise_scale = ramp.is_constant() ? Real(1) : static_cast<Real>(ramp.factor(step));
  }
  template <class P>
  void set_time(Motion<P>& motion, std::int64_t step) const {
    using Real = typename P::Real;
    const std::uint64_t draw = static_cast<std::uint64_t>(step) + draws_ahead_;
    motion.draw[0] = static_cast<std::uint32_t>(draw);
    motion.draw[1] = static_cast<std::uint32_t>(draw >> 32);
    const std::size_t baths = settings_.baths.size();
    const double* value = course_values(step);
    for (std::size_t k = 0; k < baths; ++k)
      motion.bath[k].root =
          square_root(static_cast<Real>(value ? value[k] : settings_.baths[k].temperature));
    for (std::size_t k = 0; k < settings_.body_forces.size(); ++k) {
      const double* force = value ? value + baths + 3 * k : settings_.body_forces[k].force;
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
  BoxFrame frame_;
  std::int64_t step_ = 0;
  Tally tally_;
  EngineCounters counters_;

 private:
  std::int64_t next_change() const {
    std::int64_t next = kNever;
    for (const VelocityChange& change : settings_.velocity_changes)
      next = std::min(next, (step_ / change.every + 1) * change.every);
    return next;
  }
  std::size_t course_width() const {
    return settings_.baths.size() + 3 * settings_.body_forces.size() +
           settings_.velocity_changes.size();
  }
  // What the course has for a step; null if it has nothing.
  const double* course_values(std::int64_t step) const {
    if (step < course_.first) return nullptr;
    const std::size_t at = static_cast<std::size_t>(step - course_.first) * course_width();
    return at < course_.values.size() ? course_.values.data() + at : nullptr;
  }

  const MomentUnits moment_units_;
  std::vector<double> temperature_drops_;
  Course course_;
  std::uint64_t draws_ahead_ = 0;  // number of a draw minus its step, modulo 2^64
  std::vector<PairCoefficients> coefficients_;
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
