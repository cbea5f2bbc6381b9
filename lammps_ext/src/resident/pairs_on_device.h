// SPDX-License-Identifier: GPL-2.0-or-later
// Forces of pair_style manymove/dpd from an engine, for decks in which LAMMPS moves the particles:
// positions and velocities go to the engine in each step, and forces come back.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/dpd/engine.h"
#include "resident/device_phase.h"
#include "translation/atom_topology.h"
#include "translation/particle_classes.h"

namespace LAMMPS_NS {

class PairManymoveDPD;

// All instances of the style in the deck, also within hybrid styles.
std::vector<PairManymoveDPD*> dpd_pairs(class LAMMPS* lmp);

// Why no engine can compute the local densities of a deck; empty if an engine can, or if the deck
// needs no densities.
std::string why_no_densities(class LAMMPS* lmp);

class PairOnDevice : private DevicePhase {
 public:
  // Why no engine can compute the pairs of a deck; empty if one can.
  static std::string obstacle(class LAMMPS* lmp);

  // Attaches itself to the pair style, and leaves it at the end.
  PairOnDevice(class LAMMPS* lmp, PairManymoveDPD& pair, const DeviceWishes& wishes);
  ~PairOnDevice();
  PairOnDevice(const PairOnDevice&) = delete;

  // The pair style is gone.
  void forget_pair() { pair_ = nullptr; }

  // Adds the forces on the rank's atoms where they are. draw: as in noise_key(). Collective.
  manymove::dpd::EnergyAndVirial add_forces(std::uint64_t draw);

 private:
  manymove::dpd::Settings settings();
  bool needs_another_engine(const manymove::dpd::Settings& settings);
  bool has_other_particles();
  void upload(std::uint64_t draw);

  PairManymoveDPD* pair_;  // null: forget_pair()
  ParticleClasses classes_;
  DeckTopology topology_;
  std::vector<manymove::dpd::PairCoefficients> coefficients_;
  std::vector<double> engine_is_for_;  // all numbers of its settings
  std::vector<std::uint32_t> flags_;   // no particle moves
  std::vector<double> force_;
  std::unique_ptr<manymove::dpd::Engine> engine_;
  std::uint64_t next_draw_ = 0;  // if the engine takes another step
};

}  // namespace LAMMPS_NS
