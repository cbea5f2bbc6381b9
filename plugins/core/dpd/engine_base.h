// SPDX-License-Identifier: BSD-3-Clause
// What the resident engines have in common: whose turn it is, what is checked, what is counted.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <optional>
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
  add_to(sum.dihedrals, part.dihedrals);
  add_to(sum.impropers, part.impropers);
  add_to(sum.charges, part.charges);
  add_to(sum.mesh, part.mesh);
}

// Tags of particles whose partner in a bond, and in another bonded term, is not known to a rank; 0:
// none.
struct MissingPartners {
  std::int64_t tag[2] = {};
  bool any() const { return tag[0] != 0 || tag[1] != 0; }
};

class EngineBase : public Engine, protected ShearedBox {
 public:
  // communicator: null for one rank.
  EngineBase(const Settings& settings, Communicator* communicator);
  std::int64_t step() const override { return step_; }
  double tilt(std::int64_t step) const final { return tilt_of(step); }
  EnergyAndVirial energy_and_virial() const override { return energy_and_virial_; }
  void upload(const HostArrays& arrays, const Topology& topology, Clock clock) final;
  void set_particles(int count, const std::uint32_t* tag, const double (*position)[3],
                     const double (*velocity)[3]) final;
  void set_parameter_series(ParameterSeries series) final;

  void advance(std::int64_t steps, bool (*interrupted)(), bool sums) final;
  void change_velocities() final;
  const std::vector<double>& temperature_drops() const final { return temperature_drops_; }
  void set_thermostat(NoseHooverState state) final;
  const NoseHooverState& thermostat() const final { return chain_.state(); }
  std::array<double, 6> kinetic_sums() final;
  std::vector<double> profile(const Profile& profile) final;
  void scale_velocities(const double factor[3]) final;
  void set_box(const Box& way, const Box& next) override;

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
  // An engine may leave sums out that are not wanted, unless it ends early. Collective, as are the
  // others.
  virtual void take(std::int64_t steps, bool (*interrupted)()) = 0;
  // Whether take() makes the only change of velocities that is due at a step.
  virtual bool changes_in_stride() const { return false; }
  // Runs the task of a public call that is collective, or uses the device.
  virtual void guarded(const std::function<void()>& task) { task(); }
  // Sums over this rank's particles, and the largest square_of().
  virtual Moments own_moments(const Addends& addends) = 0;
  virtual double own_largest_square() = 0;
  // Of take_value(): two words for each sum, or the largest size of each column without units.
  virtual const ProfileWords& own_profile(const Profile& profile, const double* units) = 0;
  virtual void apply_map(const VelocityMap& map, std::uint32_t flag) = 0;
  // tables() has changed.
  virtual void take_coefficients() = 0;
  // Steps before the present one can no longer be repeated, because the series of their values and
  // coefficients, or their box, is lost.
  virtual void parameters_change() {}

  // The only change of velocities that is due at a step; -1 if there is none, or more than one.
  int only_change_of(std::int64_t step) const;
  [[noreturn]] static void refuse_particle(std::uint32_t tag, const double r[3]);
  static void check_velocities(int count, const std::uint32_t* tag, const double (*velocity)[3]);
  void check_scalars(const HostArrays& arrays, const std::uint32_t* tag) const;
  [[noreturn]] void lose_particle(std::uint32_t tag) const;
  // The values become their maxima over all ranks, of which each makes the same calls.
  void maximum(std::int64_t* values, std::size_t count) const {
    if (communicator_) communicator_->maximum(values, count);
  }
  // Calls check(); what it throws on one rank is thrown on all.
  void check_together(const auto& check) const {
    if (communicator_)
      together(*communicator_, check);
    else
      check();
  }
  // Tags of particles with stretched and with broken bonds on this rank, or 0. Collective.
  void judge_bonds_of_all(std::uint32_t stretched, std::uint32_t broken);
  // During or after an advance(); stretched and broken are those of all ranks.
  void judge_bonds(std::uint32_t stretched, std::uint32_t broken);
  // Distance beyond cutoff and skin up to which a rank knows the particles of other ranks.
  double beyond_lists() const { return reach_ - (settings_.cutoff + settings_.skin); }
  // Partners are missing at a step: extends the reach of ranks. Throws BrokenBond if it is already
  // the largest, or if there are no other ranks.
  void reach_farther(const MissingPartners& missing, std::int64_t step);

  Communicator* const communicator_;
  const MomentUnits moment_units_;
  std::vector<double> temperature_drops_;
  NoseHooverChain chain_;
  EnergyAndVirial energy_and_virial_;
  bool sums_wanted_ = true;
  EngineCounters counters_;

 private:
  // With a change of velocities in every step, interruption is checked only from time to time.
  void advance_guarded(std::int64_t steps, bool (*interrupted)(), bool sums);
  void change_velocities_guarded();
  // Sums over ranks.
  Moments of_all_ranks(Moments sums) const;
  void measure_temperature();
  void follow_chain();
  std::int64_t next_change() const;
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
// P: one of for_precision(). device: the index of a CUDA device, negative for the current one of
// the calling thread.
template <Precision P>
std::unique_ptr<Engine> make_cuda_engine(const Settings& settings, int device,
                                         Communicator* communicator);
#endif

}  // namespace manymove::dpd
