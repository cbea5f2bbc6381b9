// SPDX-License-Identifier: BSD-3-Clause
// What the engines on one GPU and on the GPUs of several ranks have in common: the coefficients and
// the kernels of a step, its sums, and changes of velocities between steps.
#pragma once

#include <numeric>
#include <string>
#include <vector>

#include "../engine_base.h"
#include "bonded_kernels.cuh"
#include "host_transfer.cuh"
#include "many_body_kernels.cuh"
#include "profile_kernel.cuh"
#include "shear.cuh"
#include "velocity_kernels.cuh"

namespace manymove::dpd {

template <Precision P>
class DeviceEngine : protected OnDevice, public EngineBase {
 public:
  std::string device() const final { return name_; }

  EngineCounters counters() const final {
    const DeviceGuard here = use();
    EngineCounters counters = counters_;
    std::vector<int> number(lists_hold_ ? static_cast<std::size_t>(particles().count) : 0);
    if (!number.empty()) stream_.fetch(particles().number.data(), number.data(), number.size());
    // Pairs within a tile are in one of the two lists in mixed precision (left_out()).
    counters.neighbors = std::accumulate(number.begin(), number.end(), std::int64_t{0});
    return counters;
  }

 protected:
  using State = typename DeviceParticles<P>::State;

  // communicator: null for one rank.
  DeviceEngine(const Settings& settings, int device, Communicator* communicator)
      : OnDevice(device),
        EngineBase(settings, communicator),
        name_(device_properties().name),
        stream_(communicator),
        constants_(settings, stream_),
        bonded_(settings),
        velocity_sums_(moment_units_, stream_),
        total_(kStepSums),
        base_(constants_.step()) {
    if (is_sheared()) shear_box(base_, settings_of_tilted_box());
  }

  virtual const DeviceParticles<P>& particles() const = 0;
  // Velocities at whole steps.
  virtual typename P::Velocity* resting() const = 0;
  void guarded(const std::function<void()>& task) override {
    const DeviceGuard here = use();
    task();
  }
  // Chooses the kernels that serve the particles and the coefficients, by choose_plain().
  virtual void choose_kernels() = 0;
  void choose_plain(bool any_specials) {
    plain_ = is_plain_with(any_specials, extra_of(settings_));
  }

  void take_coefficients() final {
    guarded([&] {
      constants_.take(settings_of_tables(), stream_);
      stream_.finish("coefficients");
      choose_kernels();
    });
  }
  Moments own_moments(const Addends& addends) final {
    return velocity_sums_.of(particles().count, addends, particles().present().position.data(),
                             resting(), stream_);
  }
  double own_largest_square() final {
    return velocity_sums_.largest_square(particles().count, particles().present().position.data(),
                                         resting(), stream_);
  }
  const ProfileWords& own_profile(const Profile& profile, const double* units) final {
    const DeviceParticles<P>& p = particles();
    return profile_of<P>(
        profile, units,
        {p.count, frame_, nullptr, p.present().position.data(), resting(), p.force.data()},
        settings_.mass, stream_, profile_word_, profile_sums_);
  }
  void apply_map(const VelocityMap& map, std::uint32_t flag) override {
    launch_each(particles().count, stream_, &map_kernel<typename P::Position, typename P::Velocity>,
                particles().count, map, flag, particles().present().position.data(), resting());
  }

  // A step of all particles from the present state to `there`; table: of coefficients.
  Step<P> step_to(const State& there, std::int64_t number, std::size_t table) const {
    Step<P> s = base_;
    s.number = number;
    constants_.choose(s, table);
    set_noise(s.forces, number);
    set_time(s.motion, number);
    if (is_sheared()) tilt_step(s, number);
    if (is_dilated()) dilate_step(s, number);
    particles().set_arrays(s, there);
    return s;
  }
  // The laws of bonded terms of a table.
  BondedTerms bonded_terms(std::size_t table) const {
    BondedTerms terms = constants_.bonded_terms(table);
    if (is_dilated()) terms.edges = bonded_terms_of<P>(box_of_step(step_ + 1)).edges;
    return terms;
  }
  // At the end of take(): the present step is this one.
  void arrive(std::int64_t step) {
    counters_.steps += step - step_;
    step_ = step;
    if (is_dilated()) frame_.box = box_of_step(step_);
    tilt_frame(step_);
  }
  // From rest to the positions of the next step.
  void launch_first(const Step<P>& s) const {
    launch_each(particles().count, stream_,
                is_sheared() ? &first_kernel<P, true> : &first_kernel<P, false>, s);
  }
  // The sums of the last step of an advance(), whose blocks have written them. Collective.
  void read_sums(int blocks, bool any_bonds) {
    const auto [pairs, bonds] =
        sums_over_blocks(blocks, particles().partial.data(), total_, stream_);
    // Words 0 to 6 are energy and virial of pairs, 7 to 13 those of harmonic bonds.
    energy_and_virial_ = {pairs, bonds};
    if (any_bonds && bonded_.wanted() && particles().count > 0)
      bonded_.add_to(energy_and_virial_, blocks, total_, stream_);
    look_at_bonds();
  }
  void look_at_bonds() {
    StretchReport report{};
    if (bonded_.wanted()) stream_.fetch(bonded_.stretch(), &report, 1);
    judge_bonds_of_all(report.stretched, report.broken);
  }

  const std::string name_;
  const EngineStream stream_;
  StepConstants<P> constants_;
  BondedSums<P> bonded_;
  VelocitySums velocity_sums_;
  DeviceBuffer<unsigned long long> profile_word_;
  ProfileWords profile_sums_;
  const DeviceBuffer<double> total_;
  Step<P> base_;  // what does not change from step to step
  bool plain_ = true, lists_hold_ = false;
  std::int64_t built_ = -1;  // step of the last build
};

}  // namespace manymove::dpd
