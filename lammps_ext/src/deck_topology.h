// SPDX-License-Identifier: GPL-2.0-or-later
// What an engine is told about the atoms of this rank besides their motion: IDs, classes, bonds,
// angles and special neighbors.
#pragma once

#include <cstdint>
#include <vector>

#include "core/dpd/engine.h"
#include "mpi_communicator.h"
#include "particle_classes.h"
#include "pointers.h"

namespace LAMMPS_NS {

class DeckTopology : protected Pointers {
 public:
  explicit DeckTopology(class LAMMPS* lmp) : Pointers(lmp) {}

  // Each reads from the host's arrays. Those of bonds are collective; all may throw
  // std::runtime_error, possibly on some ranks only.
  void read_tags();
  void read_types(const ParticleClasses& classes);
  void read_bonded(MpiCommunicator& communicator, bool bonds, bool angles);
  void read_special();

  const std::vector<std::uint32_t>& tags() const { return tag_; }
  // flags: [atoms of this rank]; must live as long as what is returned.
  manymove::dpd::Topology view(const std::vector<std::uint32_t>& flags) const;

 private:
  struct Term;
  void add_bonds(std::vector<Term>& own, std::vector<Term>& others) const;
  void add_angles(std::vector<Term>& own, std::vector<Term>& others) const;
  void deliver_terms(MpiCommunicator& communicator, std::vector<Term>& terms) const;
  std::uint32_t partner_of(int i, const char* what, std::int64_t tag) const;
  void check_number(const char* what, std::size_t number) const;

  std::vector<std::uint32_t> tag_, bonded_partner_, special_partner_;
  std::vector<int> class_, first_bonded_, bonded_kind_, first_special_;
  std::vector<std::uint8_t> special_kind_;
};

}  // namespace LAMMPS_NS
