// SPDX-License-Identifier: GPL-2.0-or-later
// Forces of pair_style manymove/dpd from an engine, for input scripts in which LAMMPS moves the
// particles: positions and velocities go to the engine in each step, and forces come back.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/dpd/engine.h"
#include "resident/device_phase.h"
#include "styles/pair_manymove_dpd.h"
#include "translation/atom_topology.h"
#include "translation/particle_classes.h"

namespace LAMMPS_NS {

class PairOnDevice : private DevicePhase, public ForcesOfEngine {
 public:
  // Why no engine can compute the pairs of an input script; empty if one can.
  static std::string obstacle(class LAMMPS* lmp);

  // Attaches itself to the pair style, and leaves it at the end.
  PairOnDevice(class LAMMPS* lmp, PairManymoveDPD& pair, const DeviceWishes& wishes);
  ~PairOnDevice();
  PairOnDevice(const PairOnDevice&) = delete;

  void forget_pair() override { pair_ = nullptr; }
  manymove::dpd::EnergyAndVirial add_forces(std::uint64_t draw) override;

 private:
  manymove::dpd::Settings settings();
  bool needs_another_engine(const manymove::dpd::Settings& settings);
  bool has_other_particles();
  void upload(std::uint64_t draw);

  PairManymoveDPD* pair_;       // null: forget_pair()
  const int no_virial_before_;  // no_virial_fdotr_compute of force->pair
  ParticleClasses classes_;
  AtomTopology topology_;
  std::vector<manymove::dpd::PairCoefficients> coefficients_;
  std::vector<double> engine_is_for_;  // all numbers of its settings
  std::vector<std::uint32_t> flags_;   // no particle moves
  std::vector<double> force_;
  std::unique_ptr<manymove::dpd::Engine> engine_;
  std::uint64_t next_draw_ = 0;  // if the engine takes another step
};

}  // namespace LAMMPS_NS
