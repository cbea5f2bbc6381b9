// SPDX-License-Identifier: GPL-2.0-or-later
// What a deck asks of an engine that keeps the particles, or why no engine can serve it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/dpd/engine.h"
#include "mpi_communicator.h"
#include "pointers.h"

namespace LAMMPS_NS {

class Fix;
class FixManymoveWall;
class PairManymoveDPD;
class Region;

// What is read from the particles; positions with images.
enum ReadArrays : unsigned { kVelocities = 1, kForces = 2, kPositions = 4, kEverything = 7 };

class DeckTranslation : protected Pointers {
 public:
  // Reads the deck of the run that is set up.
  explicit DeckTranslation(class LAMMPS* lmp);

  // The commands that no engine serves, separated by commas; empty if all are served.
  const std::string& unserved() const { return unserved_; }

  // What LAMMPS' own Verlet tolerates but an engine reports as an error during the run; empty if
  // there is nothing.
  std::string risk() const;

  // With the present length of the time step.
  manymove::dpd::Settings settings();

  // Reads what belongs to particles from the host's arrays. Collective; throws std::runtime_error,
  // possibly on some ranks only.
  void read_particles(MpiCommunicator& communicator);
  // Reads only tags and groups: the particles are the same, perhaps on other ranks.
  void read_tags();
  const std::vector<std::uint32_t>& tags() const { return tag_; }
  bool is_integrated(int i) const { return (flags_[i] & manymove::dpd::kIntegrated) != 0; }
  manymove::dpd::Topology topology() const;
  // Number of the present step's random numbers.
  std::uint64_t draw();

  // The sum of all body forces on local atom i where it is now.
  void body_force(int i, double sum[3]) const;
  bool has_body_forces() const { return !body_forces_.empty(); }

  // Fixes that act at the end of steps that are multiples of their nevery.
  const std::vector<Fix*>& end_of_step() const { return end_of_step_; }

  // Whether computes, or fixes at the end of a step, may look at ghost atoms or neighbor lists.
  bool somebody_reads_neighbours() const { return reads_neighbours_; }

  // What thermodynamic output, or a fix at the end of a step, may read: bits of ReadArrays. A fix
  // that does not need everything changes no more than velocities.
  unsigned read_by_thermo() const;
  unsigned read_by(const Fix* fix) const;

 private:
  struct BodyForce {
    Fix* fix;
    double force[3];
    Region* block;  // null: everywhere
  };

  void refuse(const std::string& culprit);
  template <class Task>
  void on_all_ranks(Task task);
  void refuse_together();
  void check_pairs_and_bonds();
  void check_atoms();
  void check_box();
  void check_plane();
  void check_fixes();
  void check_fix(Fix* fix, int mask);
  void check_wall(FixManymoveWall* fix);
  void check_body_force(Fix* fix);
  void check_body_forces_act_as_read();
  bool body_forces_act_as_read();
  bool acts_on(const BodyForce& body, int i) const;
  void check_integrated_once();
  void check_readers();
  bool is_block(Region* region) const;
  std::uint32_t flag_of(const Fix* fix);
  struct BondEnd;
  void read_bonds(MpiCommunicator& communicator);
  void deliver_bonds(MpiCommunicator& communicator, std::vector<BondEnd>& ends) const;
  void check_number(const char* what, std::size_t number) const;
  void read_special();

  std::string unserved_;
  PairManymoveDPD* pair_ = nullptr;
  std::vector<Fix*> integrators_, end_of_step_;
  std::vector<FixManymoveWall*> walls_;
  std::vector<BodyForce> body_forces_;
  std::vector<std::pair<int, std::uint32_t>> group_flags_;  // group's bit, particle's flag
  bool reads_neighbours_ = false, reads_positions_ = true;

  std::vector<std::uint32_t> tag_, flags_, bond_partner_, special_partner_;
  std::vector<int> first_bond_, bond_type_, first_special_;
  std::vector<std::uint8_t> special_kind_;
};

}  // namespace LAMMPS_NS
