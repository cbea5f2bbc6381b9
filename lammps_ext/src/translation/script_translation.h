// SPDX-License-Identifier: GPL-2.0-or-later
// What an input script asks of an engine that keeps the particles, or why no engine can serve it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/dpd/engine.h"
#include "pointers.h"
#include "translation/adapting_fixes.h"
#include "translation/atom_topology.h"
#include "translation/barostat.h"
#include "translation/bonded_styles.h"
#include "translation/chain_thermostat.h"
#include "translation/charge_styles.h"
#include "translation/force_fixes.h"
#include "translation/particle_classes.h"
#include "translation/readers.h"
#include "translation/refusals.h"
#include "translation/rigid_fix.h"
#include "translation/served_pairs.h"
#include "translation/shearing_box.h"
#include "translation/velocity_fixes.h"

namespace LAMMPS_NS {

class Fix;
class FixNH;

// What runs without a setup (pre no) have to know of the last one: its step, and whether rates of
// fix deform in the domain are constant, as they are after its init(), and in a run that is
// sheared.
struct LastSetup {
  bigint step = 0;
  bool may_shear = false;
};

class ScriptTranslation : protected Pointers {
 public:
  // Reads the input script of the run that is set up.
  ScriptTranslation(class LAMMPS* lmp, const LastSetup& last_setup);

  // The commands that no engine serves, separated by commas; empty if all are served.
  const std::string& unserved() const { return refusals_.text(); }

  // What LAMMPS' own Verlet tolerates but an engine reports as an error during the run; empty if
  // there is nothing.
  std::string risk() const;
  // Whether particles may leave through an open face, and are then deleted.
  bool may_lose_particles() const { return !open_face_.empty() && ignores_losses_; }

  // Takes fix nvt or nvt/sllod. Returns why it is not served, or "". The fix acts for this, and its
  // action is undone: call it when a device is to keep the particles of an input script that has
  // nothing unserved. Collective.
  std::string take_thermostat();

  // With the present length of the time step. The table of pairs belongs to this object.
  manymove::dpd::Settings settings();

  // Reads what belongs to particles from the host's arrays. Collective; throws std::runtime_error,
  // possibly on some ranks only.
  void read_particles(MpiCommunicator& communicator);
  // Reads only the IDs: the particles are the same, perhaps on other ranks.
  void read_tags() { topology_.read_tags(); }
  const std::vector<std::uint32_t>& tags() const { return topology_.tags(); }
  // Whether forces change the velocity of atom i.
  bool is_integrated(int i) const;
  manymove::dpd::Topology topology() const;
  // Whether the masses, types or groups of some particles are such that settings() has changed.
  // Collective.
  bool has_new_classes(MpiCommunicator& communicator);
  // Number of the present step's random numbers.
  std::uint64_t draw();

  // Forces, temperatures and coefficients that change from step to step, known for at most
  // series_length() steps.
  bool has_series() const {
    return forces_.has_series() || velocities_.has_series() || adapting_.known_ahead() || adapted_;
  }
  bigint series_length() const;
  manymove::dpd::ParameterSeries series(bigint first, bigint last);

  // Lets fixes adapt coefficients in the present step.
  void adapt(int vflag);
  // The coefficients of the host become those of this step, if a series has contained later ones.
  void readapt(bigint step) const { adapting_.act_again(step, last_setup_.step); }

  PairManymoveDPD* dpd() const { return pairs_.dpd(); }
  ForceFixes& forces() { return forces_; }
  const ForceFixes& forces() const { return forces_; }
  const VelocityFixes& velocities() const { return velocities_; }
  const ChainThermostat& thermostat() const { return thermostat_; }
  const ShearingBox& shearing() const { return shearing_; }
  const Barostat& barostat() const { return barostat_; }
  const RigidFix& rigid() const { return rigid_; }
  const AdaptingFixes& adapting() const { return adapting_; }
  const Readers& readers() const { return readers_; }
  const ChargeStyles& charges() const { return charges_; }
  // The next step that the host makes, because a fix of it inserts or deletes atoms or changes the
  // sub-domains before the forces.
  bigint next_step_of_host() const;
  // Other fixes that act at the end of steps that are multiples of their nevery.
  const std::vector<Fix*>& end_of_step() const { return end_of_step_; }

 private:
  std::string why_no_engine();
  void find_classes();
  void check_fixes();
  // A face that is not periodic and has no wall, such as "xlo"; or empty.
  std::string open_face(bool surfaces_count) const;
  void check_steps_of_host();
  void check_fix(Fix* fix, int mask);
  void check_rigid();
  bool engine_changes_velocities(Fix* fix);
  manymove::dpd::Coefficients coefficients(bigint from);

  const LastSetup last_setup_;
  Refusals refusals_;
  ServedPairs pairs_;
  const ChargeStyles charges_;
  BondedStyles styles_;
  ForceFixes forces_;
  VelocityFixes velocities_;
  ChainThermostat thermostat_;
  ParticleClasses classes_;
  AtomTopology topology_;
  ShearingBox shearing_;
  Barostat barostat_;
  RigidFix rigid_;
  AdaptingFixes adapting_;
  Readers readers_;
  std::vector<manymove::dpd::PairCoefficients> coefficients_;
  std::vector<Fix*> end_of_step_, before_exchange_;  // of the host
  std::string open_face_;                            // surfaces do not count
  bool ignores_losses_ = false;
  bool adapted_ = false;  // fixes have changed coefficients that are not in a series yet
  FixNH* chain_ = nullptr;
  std::vector<std::uint32_t> flags_;
  const manymove::dpd::RigidBodies* bodies_ = nullptr;  // of rigid_
};

}  // namespace LAMMPS_NS
