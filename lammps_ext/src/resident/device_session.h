// SPDX-License-Identifier: GPL-2.0-or-later
// The particles of LAMMPS in an engine: uploaded from the arrays of LAMMPS, and downloaded when
// these arrays are read. What the engine cannot do is an error of LAMMPS.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/dpd/engine.h"
#include "resident/device_phase.h"
#include "styles/scalars_of_atoms.h"
#include "translation/script_translation.h"

namespace LAMMPS_NS {

class DeviceSession : private DevicePhase {
 public:
  DeviceSession(class LAMMPS* lmp, ScriptTranslation& script, const DeviceWishes& wishes);

  std::string transport() const { return engine_->transport(); }
  manymove::dpd::EnergyAndVirial energy_and_virial() const { return engine_->energy_and_virial(); }
  std::vector<manymove::dpd::RigidBody> rigid_bodies() const { return engine_->rigid_bodies(); }

  // Gives the host's arrays of the present step to the engine.
  void upload(bool other_coefficients = false);
  // Returns the step that was reached; before `stop` if LAMMPS' timer has run out. Or less than the
  // present step, if a particle was lost in step lost_in(), and the input script allows that: then
  // upload() has to follow.
  // Without `sums` energies and virials of `stop` may be 0.
  bigint advance(bigint stop, bool sums);
  bigint lost_in() const { return lost_in_; }
  // Makes the engine's changes of velocities at the end of the present step, of which the host has
  // the arrays `what`.
  void change_velocities(unsigned what);
  // Of velocities, in the latest half step of a chain of thermostats.
  double factor_of_thermostat() const { return engine_->thermostat().factor; }
  // For fixes that change the box; as those of the engine.
  std::array<double, 6> kinetic_sums();
  // Of this rank, as of the engine.
  std::vector<double> profile(const manymove::dpd::Profile& profile);
  void follow(const Barostat::Change& change);
  // The first rank that has at least three atoms; -1 if there is none.
  int rank_with_atoms() const { return rank_with_atoms_; }
  // Some of ReadArrays; forces come from pairs and bonds alone.
  void download(unsigned what);
  // The same where the positions of the arrays are still those of the step.
  void download_again(unsigned what);

  // The host's atoms are on other ranks now, or in another order.
  void set_origins();

  // remember() is called before others act on the host's arrays, of which `what` is current, and
  // accept_changes() afterwards, which gives the engine what has changed. Unless all arrays are
  // current, only velocities may change.
  void remember(unsigned what);
  void accept_changes();

  // After the last step of a run, for whose forces no step of the engine follows: an error, as in
  // advance(), if the velocity of a particle is not a number. The host has the velocities.
  void check_velocities();

  manymove::dpd::EngineCounters counters() const;

 private:
  // Hash of the velocities, or of all else that the engine takes from the host's arrays.
  std::uint64_t fingerprint(bool of_velocities) const;
  void make_engine();
  std::vector<double> cuts() const;
  void find_rank_with_atoms();
  void find_body_forces();
  // Velocities that differ from the host's: under shear, those relative to the flow; those of fix
  // move. Empty if there are none.
  std::vector<double> other_velocities() const;
  // Under shear: convert_images() replaces images in
  // LAMMPS' box by those in the engine's box, or the reverse for a sign of -1.
  void convert_images(bigint step, int sign);
  void warn_of_stretched_bonds();
  void count_drops();
  manymove::dpd::HostArrays arrays_with_images();
  // Room for the scalars of atoms, where they have some.
  void add_scalars(manymove::dpd::HostArrays& arrays);

  ScriptTranslation& script_;
  std::unique_ptr<manymove::dpd::Engine> engine_;
  double time_step_ = 0;                     // of engine_
  std::vector<double> cuts_;                 // of its sub-domains
  bool warned_ = false;                      // of stretched bonds
  std::vector<std::array<int, 3>> image_;    // LAMMPS' images, unpacked
  std::vector<std::array<double, 3>> body_;  // body forces within atom->f
  ScalarArrays scalars_, flux_;
  std::uint64_t velocities_ = 0, others_ = 0;  // fingerprints
  bigint lost_in_ = -1;
  bool only_velocities_ = false;  // may have changed
  int rank_with_atoms_ = -1;
  std::vector<double> drops_;              // of the engine's temperatures, counted
  manymove::dpd::EngineCounters earlier_;  // of the engines before this one
};

}  // namespace LAMMPS_NS
