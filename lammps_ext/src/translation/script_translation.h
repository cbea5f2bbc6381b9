// SPDX-License-Identifier: GPL-2.0-or-later
// What a deck asks of an engine that keeps the particles, or why no engine can serve it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/dpd/engine.h"
#include "lmptype.h"
#include "mpi_communicator.h"
#include "pointers.h"
#include "translation/atom_topology.h"
#include "translation/bonded_styles.h"
#include "translation/force_fixes.h"
#include "translation/particle_classes.h"
#include "translation/sllod_thermostat.h"
#include "translation/velocity_fixes.h"

namespace LAMMPS_NS {

class Fix;
class PairManymoveDPD;

// What is read from the particles; positions with images.
enum ReadArrays : unsigned { kVelocities = 1, kForces = 2, kPositions = 4, kEverything = 7 };

// What runs without a setup (pre no) have to know of the last one: its step, and whether rates of
// fix deform in the domain are constant, as they are after its init(), and in a run that is
// sheared.
struct LastSetup {
  bigint step = 0;
  bool may_shear = false;
};

class DeckTranslation : protected Pointers {
 public:
  // Reads the deck of the run that is set up.
  DeckTranslation(class LAMMPS* lmp, const LastSetup& last_setup);

  // The commands that no engine serves, separated by commas; empty if all are served.
  const std::string& unserved() const { return unserved_; }

  // What LAMMPS' own Verlet tolerates but an engine reports as an error during the run; empty if
  // there is nothing.
  std::string risk() const;

  // With the present length of the time step. The table of pairs belongs to this object.
  manymove::dpd::Settings settings();

  // Reads what belongs to particles from the host's arrays. Collective; throws std::runtime_error,
  // possibly on some ranks only.
  void read_particles(MpiCommunicator& communicator);
  // Reads only the IDs: the particles are the same, perhaps on other ranks.
  void read_tags() { topology_.read_tags(); }
  const std::vector<std::uint32_t>& tags() const { return topology_.tags(); }
  bool is_integrated(int i) const {
    return (forces_.flags_of(atom_mask(i)) & manymove::dpd::kIntegrated) != 0;
  }
  manymove::dpd::Topology topology() const { return topology_.view(flags_); }
  // Whether the masses, types or groups of some particles are such that settings() has changed.
  // Collective.
  bool has_new_classes(MpiCommunicator& communicator);
  // Number of the present step's random numbers.
  std::uint64_t draw();

  // The course: forces, temperatures and coefficients that change from step to step, known for at
  // most course_length() steps. add_on_host() tallies what fixes add on the host.
  bool has_course() const {
    return forces_.has_course() || velocities_.has_course() || adapts_ahead_ || adapted_;
  }
  bigint course_length() const;
  manymove::dpd::ParameterSeries course(bigint first, bigint last);
  void add_on_host(int vflag) const { forces_.add_on_host(vflag); }
  void evaluate() { forces_.evaluate(); }

  // The sum of what body forces add to the force on local atom i where it is now.
  void body_force(int i, double sum[3]) const { forces_.body_force(i, sum); }
  bool has_body_forces() const { return forces_.has_body_forces(); }

  // The rate of shear by fix deform, 0 without it. set_box_before() gives LAMMPS' box the shape
  // that it has for the forces of a step, and set_box_after_step() the one in which the fix leaves
  // it at the end of the present step. If set_box_before() returns true, the box was replaced, and
  // LAMMPS has sent atoms to other ranks.
  double shear_rate() const { return shearing_ ? shear_rate_ : 0; }
  bool set_box_before(bigint step) const;
  void set_box_after_step() const;

  // fix nvt/sllod. take_thermostat() returns why it is not served, or "". The fix acts for this,
  // and its action is undone: call it when a device is to keep the particles of a deck that has
  // nothing unserved. Collective.
  std::string take_thermostat();
  const DeckThermostat& thermostat() const { return thermostat_; }

  // Changes of velocities by the engine at the end of steps.
  const DeckVelocities& velocities() const { return velocities_; }

  // Other fixes that act at the end of steps that are multiples of their nevery.
  const std::vector<Fix*>& end_of_step() const { return end_of_step_; }

  // Fixes that change coefficients before the forces of some steps are computed (fix adapt).
  // adapts(): whether there are any. stops_to_adapt_at(): whether the host has to stop before the
  // step, because variables may depend on the particles. last_step_before_adapting(): the last step
  // from now + 1 on that is followed by a step of these fixes. adapt(): their action in the present
  // step. If the course contains the coefficients, those of the host are the ones of its last step,
  // and readapt() replaces them by those of an earlier step.
  bool adapts() const { return !adapting_.empty(); }
  bool stops_to_adapt_at(bigint step) const { return !adapts_ahead_ && adapts_at(step); }
  bigint last_step_before_adapting(bigint now) const;
  void adapt(int vflag);
  void readapt(bigint step) const;

  // Whether computes, or fixes at the end of a step, may look at ghost atoms or neighbor lists.
  bool reads_neighbors() const { return reads_neighbors_; }

  // What thermodynamic output, or a fix at the end of a step, may read: bits of ReadArrays. A fix
  // that does not need everything changes no more than velocities.
  unsigned read_by_thermo() const;
  unsigned read_by(const Fix* fix) const;

 private:
  void refuse(const std::string& culprit);
  template <class Task>
  void on_all_ranks(Task task);
  void refuse_together();
  void check_pairs_and_bonds();
  void check_atoms();
  bool is_known_atom_style() const;
  void find_classes();
  void check_box();
  void check_plane();
  void check_fixes();
  void check_fix(Fix* fix, int mask);
  bool engine_changes_velocities(Fix* fix);
  bool can_shear(const Fix* fix) const;
  void check_readers();
  int atom_mask(int i) const;
  bool adapts_at(bigint step) const;
  manymove::dpd::Coefficients coefficients(bigint from) const;

  const LastSetup last_setup_;
  std::string unserved_;
  PairManymoveDPD* pair_ = nullptr;
  BondedStyles styles_;
  DeckForces forces_;
  DeckVelocities velocities_;
  DeckThermostat thermostat_;
  ParticleClasses classes_;
  DeckTopology topology_;
  std::vector<manymove::dpd::PairCoefficients> coefficients_;
  std::vector<Fix*> end_of_step_, adapting_;
  bool adapts_ahead_ = false;  // adapted values are known before the engine makes the steps
  bool adapted_ = false;       // fixes have changed coefficients that are not in a course yet
  Fix *shearing_ = nullptr, *sllod_ = nullptr;
  double shear_rate_ = 0;
  bool reads_neighbors_ = false, reads_positions_ = true;
  std::vector<std::uint32_t> flags_;
};

}  // namespace LAMMPS_NS
