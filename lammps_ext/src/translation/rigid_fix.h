// SPDX-License-Identifier: GPL-2.0-or-later
// Fix rigid and fix rigid/small at constant energy, whose bodies an engine moves.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/dpd/engine.h"
#include "mpi_communicator.h"
#include "pointers.h"
#include "translation/refusals.h"

namespace LAMMPS_NS {

class Fix;
class FixRigid;
class FixRigidSmall;

class RigidFix : protected Pointers {
 public:
  explicit RigidFix(class LAMMPS* lmp) : Pointers(lmp) {}

  static bool is_one(const Fix* fix);
  // Takes such a fix. Returns why it is not served, or "".
  std::string take(Fix* fix);
  // Null if there is none.
  Fix* fix() const { return fix_; }
  // Whether local atom i is in a body.
  bool has(int i) const;
  // Adds neigh_modify exclude molecule, unless it excludes the pairs within bodies and no others.
  // Local.
  void check_exclusions(Refusals& refusals) const;

  // What keeps the fix from a GPU with these pairs, or "".
  std::string why_not_on_gpu(const manymove::dpd::PairTable& pairs) const;

  // The bodies of all ranks, from the fix; null if there is none. They belong to this object.
  // Collective.
  const manymove::dpd::RigidBodies* read(MpiCommunicator& communicator);
  // Gives the fix what it has in the present step, and the virial of its constraints. Ghosts have
  // it after follow_atoms(). Local.
  void write(const std::vector<manymove::dpd::RigidBody>& bodies, const double virial[6]) const;
  // Atoms have new images and ghosts. Collective.
  static void follow_atoms(const class Modify* modify);

 private:
  // Bodies as they are read, and their particles with the number or the owner of the body.
  void read_bodies(std::vector<std::int64_t>& name,
                   std::vector<manymove::dpd::RigidBody>& bodies) const;
  std::int64_t name_of_body(int i) const;
  std::vector<manymove::dpd::RigidParticle> particles() const;
  bool is_molecule(int i) const;

  Fix* fix_ = nullptr;
  FixRigid* rigid_ = nullptr;  // one of these is fix_
  FixRigidSmall* small_ = nullptr;
  std::map<std::int64_t, int> number_;  // of a body in bodies_, by name
  manymove::dpd::RigidBodies bodies_;
};

}  // namespace LAMMPS_NS
