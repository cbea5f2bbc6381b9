// SPDX-License-Identifier: GPL-2.0-or-later
// What an engine needs of the atoms of this rank besides their motion: IDs, classes, bonded terms
// and special neighbors.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/dpd/engine.h"
#include "mpi_communicator.h"
#include "pointers.h"
#include "translation/bonded_styles.h"
#include "translation/particle_classes.h"

namespace LAMMPS_NS {

class AtomTopology : protected Pointers {
 public:
  explicit AtomTopology(class LAMMPS* lmp) : Pointers(lmp) {}

  // Each reads from the host's arrays. Functions of bonds are collective; all may throw
  // std::runtime_error, possibly on some ranks only.
  void read_tags();
  void read_types(const ParticleClasses& classes);
  void read_bonded(MpiCommunicator& communicator, const BondedStyles& styles);
  // of_charges: also special neighbors whose Coulomb factor is not 1.
  void read_special(bool of_charges = false);

  // Whether both have read the same; and what the other one has read.
  bool is_same(const AtomTopology& other) const { return read_ == other.read_; }
  void take(AtomTopology& other) { std::swap(read_, other.read_); }

  const std::vector<std::uint32_t>& tags() const { return read_.tag; }
  // flags: [atoms of this rank]; must live as long as what is returned.
  manymove::dpd::Topology view(const std::vector<std::uint32_t>& flags) const;

 private:
  struct Term;
  struct TermLists;
  void add_terms(const auto& styles, const TermLists& lists, std::vector<Term>& own,
                 std::vector<Term>& others) const;
  void deliver_terms(MpiCommunicator& communicator, std::vector<Term>& terms) const;
  std::uint32_t partner_of(int i, const char* what, std::int64_t tag) const;
  void check_number(const char* what, std::size_t number) const;

  struct Arrays {
    std::vector<std::uint32_t> tag, bonded_partner, special_partner;
    std::vector<int> kind, first_bonded, bonded_kind, first_special;
    std::vector<std::uint8_t> special_kind;

    bool operator==(const Arrays&) const = default;
  };

  Arrays read_;
};

}  // namespace LAMMPS_NS
