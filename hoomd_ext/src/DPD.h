// SPDX-License-Identifier: BSD-3-Clause
// The HOOMD-blue integrator around the resident engine of DPD, for CPU and GPU.
#pragma once

#include <hoomd/Integrator.h>
#include <hoomd/ParticleGroup.h>
#include <hoomd/Trigger.h>
#include <hoomd/Variant.h>
#include <pybind11/pybind11.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "Peers.h"
#include "core/dpd/engine.h"

namespace manymove::host {

class DPD : public hoomd::Integrator, protected OnRanks {
 public:
  using Triggers = std::vector<std::shared_ptr<hoomd::Trigger>>;

  // threads: of the CPU engine. double_precision: of pairs and positions in the engine.
  DPD(std::shared_ptr<hoomd::SystemDefinition> system, hoomd::Scalar dt, int threads,
      bool double_precision);

  // Sets a function that is called when a run begins, sets all below, and may throw.
  void set_check(std::function<void()> check) { check_ = std::move(check); }
  void prepRun(std::uint64_t timestep) override;
  void update(std::uint64_t timestep) override;
  hoomd::Scalar getTranslationalDOF(std::shared_ptr<hoomd::ParticleGroup> group) override;

  // By pair of particle types, of which the order is immaterial.
  void set_params(const std::pair<std::string, std::string>& types, const pybind11::dict& params);
  pybind11::dict params(const std::pair<std::string, std::string>& types) const;
  void set_r_cut(const std::pair<std::string, std::string>& types, double r_cut);
  double r_cut(const std::pair<std::string, std::string>& types) const;

  double dt() const { return static_cast<double>(m_deltaT); }
  void set_dt(double dt);
  std::shared_ptr<hoomd::Variant> kT() const { return kT_; }
  void set_kT(std::shared_ptr<hoomd::Variant> kT);
  double buffer() const { return buffer_; }
  void set_buffer(double buffer) { set(buffer_, buffer); }
  // The particles that move.
  void set_group(std::shared_ptr<hoomd::ParticleGroup> group);

  // A force on bonds or angles of one of HOOMD-blue's types, which count from 0.
  struct BondForce {
    unsigned int type;
    dpd::BondCoefficients coefficients;
  };
  struct AngleForce {
    unsigned int type;
    dpd::AngleCoefficients coefficients;
  };
  void set_forces(std::vector<BondForce> bonds, std::vector<AngleForce> angles);
  // Names of the exclusions of pair forces, as in hoomd.md.nlist.NeighborList.
  void set_exclusions(std::set<std::string> exclusions) { set(exclusions_, std::move(exclusions)); }
  // Arrays of HOOMD-blue are current at the time steps of these triggers, of operations that read
  // and of operations that may change them, and at the last step of a run.
  void set_schedule(Triggers readers, Triggers changers, std::uint64_t end);

  // Sums at the present time step. The order of tensors is xx, xy, xz, yy, yz, zz.
  struct Sums {
    double pair_energy = 0, bond_energy = 0, angle_energy = 0;
    std::array<double, 6> virial{};
  };
  Sums sums();
  double kinetic_energy();
  std::array<double, 6> pressure_tensor();
  double degrees_of_freedom();
  // [N][3], by tag. Collective, as sums() is.
  std::vector<double> forces();
  std::uint64_t builds();  // of neighbor lists by the present engine
  // Particle steps per second since the start of the last run.
  double steps_per_second();

 private:
  using Clock = std::chrono::steady_clock;
  struct Particles;
  struct Links;
  using Pairs = std::vector<std::array<unsigned int, 2>>;
  // Particles of one of HOOMD-blue's types that have the same mass.
  struct Kind {
    unsigned int type;
    double mass;

    bool operator<(const Kind& other) const {
      return std::tie(type, mass) < std::tie(other.type, other.mass);
    }
  };

  template <class T>
  void set(T& parameter, T value) {
    stale_ |= parameter != value;
    parameter = std::move(value);
  }
  [[noreturn]] void refuse(const std::string& why) const;
  std::size_t pair_of(const std::pair<std::string, std::string>& types) const;
  std::size_t pair_of(unsigned int i, unsigned int j) const;
  double temperature(std::uint64_t timestep) const;
  void check_system() const;
  dpd::Box box() const;
  // [kinds + 1][kinds + 1]
  std::vector<dpd::PairCoefficients> pairs(double kT) const;
  dpd::Settings settings(const std::vector<dpd::PairCoefficients>& pairs) const;
  // Runs a call of the engine on all ranks, whose errors name the particles by HOOMD-blue's tags.
  void guarded(const std::function<void()>& call);
  // Makes an engine that holds HOOMD-blue's particles, with the forces of this time step.
  void make_engine();
  Particles read_particles() const;
  void read_kinds(Particles& particles) const;
  bool excludes(const char* which) const { return exclusions_.count(which) > 0; }
  // Bonds and bodies of all ranks, which some exclusions need; otherwise empty. Collective.
  Pairs all_bonds() const;   // tags
  Pairs all_bodies() const;  // bodies and tags of their particles, sorted
  Links read_links(const Pairs& all_bonds, const Pairs& all_bodies) const;
  template <class Exclude>
  void for_each_exclusion(const Pairs& all_bonds, const Pairs& all_bodies, Exclude&& exclude) const;
  // A number that changes with the particles, the box, the bonds and the group.
  std::uint64_t checksum() const;
  // Called where others may change HOOMD-blue's arrays.
  void remember() { checksum_ = checksum(); }
  // The engine makes the steps that are due.
  void catch_up();
  dpd::ParameterSeries series(std::int64_t first, std::int64_t last);
  // The engine and HOOMD-blue's arrays reach the present time step. Throws without an engine, as
  // after an error.
  void be_current();
  // Writes the particles of the engine into HOOMD-blue's arrays.
  void show();
  Sums sums_of_engine() const;     // of this rank
  std::array<double, 6> motion();  // the sums of m v v
  // Calls task(arrays) with HOOMD-blue's arrays in the memory `where`.
  template <class Task>
  void with_arrays(hoomd::access_location::Enum where, Task&& task) const;
  void clear_virials() const;
  bool due(const Triggers& triggers, std::uint64_t timestep) const;
  // Several ranks; all calls are collective. The engine divides the box into HOOMD-blue's domains.
  dpd::Grid grid() const;
  double bonded_reach() const;
  void recover();
  // The engine learns which particles are on which rank.
  void follow_migration();
  // HOOMD-blue's migration, until all particles are in the domains of their ranks.
  void migrate();

  const std::string device_;
  const int threads_;
  const bool double_precision_;
  std::function<void()> check_;
  std::vector<double> a_, gamma_, weight_exponent_, r_cut_;  // [types][types]
  std::shared_ptr<hoomd::Variant> kT_;
  double buffer_ = 0;
  std::shared_ptr<hoomd::ParticleGroup> group_;
  std::vector<BondForce> bonds_;
  std::vector<AngleForce> angles_;
  std::set<std::string> exclusions_{"bond"};
  Triggers readers_, changers_;
  std::uint64_t end_ = 0;

  std::unique_ptr<dpd::Engine> engine_;
  std::vector<Kind> kinds_;  // the engine's types
  // Particles of this rank in the order of the engine: HOOMD-blue's tags and 1.
  std::vector<std::uint32_t> tag_;
  bool stale_ = true;              // a parameter has changed since the engine was made
  std::uint16_t seed_ = 0;         // of the engine
  double last_kT_ = 0;             // of the engine's coefficients
  dpd::EnergyAndVirial energies_;  // of the engine's time step
  std::uint64_t timestep_ = 0;     // that HOOMD-blue has reached
  std::int64_t pending_ = 0;       // steps by which the engine is behind
  bool shown_ = false;             // HOOMD-blue's arrays have the present time step
  bool may_change_ = false;        // an operation acts at this time step and may change them
  std::optional<std::uint64_t> checksum_;  // of what was shown, if others may have changed it
  Clock::time_point started_;
  std::uint64_t first_step_ = 0;  // of the last run
};

}  // namespace manymove::host
