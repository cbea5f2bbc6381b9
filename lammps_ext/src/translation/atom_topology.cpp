// SPDX-License-Identifier: GPL-2.0-or-later
#include "translation/atom_topology.h"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <numeric>
#include <span>
#include <stdexcept>
#include <tuple>

#include "atom.h"
#include "comm.h"
#include "core/parallel/origins.h"
#include "core/runtime/text.h"
#include "force.h"
#include "update.h"

using namespace LAMMPS_NS;
using manymove::dpd::kAngleCenter;
using manymove::dpd::kAngleEnd;
using manymove::dpd::kDihedral;
using manymove::dpd::kFurtherPartner;
using manymove::dpd::kImproper;
using manymove::dpd::kNextPlace;

namespace {

constexpr int kByParticle = 1;  // Atom::molecular: topology is kept by particle

}  // namespace

// A bonded term, seen from one of its particles: the partner of a bond, the two of an angle, or the
// three of a dihedral or an improper. What is not used is 0.
struct AtomTopology::Term {
  std::uint32_t particle;
  std::array<std::uint32_t, 3> partner;
  int kind;

  int partners() const { return kind < kAngleEnd ? 1 : kind < kDihedral ? 2 : 3; }
};

// LAMMPS' lists of dihedrals or of impropers, by particle.
struct AtomTopology::FourLists {
  const char* what;
  int first_role;
  std::function<bool(int)> act;  // whether terms of this type do
  const int* number;
  int* const* type;
  std::array<tagint* const*, 4> atoms;
};

void AtomTopology::read_tags() { read_.tag.assign(atom->tag, atom->tag + atom->nlocal); }

void AtomTopology::read_types(const ParticleClasses& classes) {
  read_.kind.resize(static_cast<std::size_t>(atom->nlocal));
  for (int i = 0; i < atom->nlocal; ++i) read_.kind[i] = classes.of(i);
}

// ---- bonded terms ----

std::uint32_t AtomTopology::partner_of(int i, const char* what, std::int64_t tag) const {
  if (atom->map(static_cast<tagint>(tag)) < 0)
    throw std::runtime_error(manymove::text_of(what, " atoms ", read_.tag[i], " ", tag,
                                               " missing at step ", update->ntimestep));
  return static_cast<std::uint32_t>(tag);
}

// Types that are not positive are switched off.
void AtomTopology::add_bonds(const BondedStyles& styles, std::vector<Term>& own,
                             std::vector<Term>& others) const {
  for (int i = 0; i < atom->nlocal; ++i) {
    for (int m = 0; m < atom->num_bond[i]; ++m) {
      const int type = atom->bond_type[i][m];
      if (type <= 0 || !styles.of_bonds().act(type)) continue;
      const std::uint32_t partner = partner_of(i, "Bond", atom->bond_atom[i][m]);
      own.push_back({read_.tag[i], {partner}, type});
      if (force->newton_bond) others.push_back({partner, {read_.tag[i]}, type});
    }
  }
}

// With newton_bond an angle is kept by its center, else by all three.
void AtomTopology::add_angles(const BondedStyles& styles, std::vector<Term>& own,
                              std::vector<Term>& others) const {
  for (int i = 0; i < atom->nlocal; ++i) {
    for (int m = 0; m < atom->num_angle[i]; ++m) {
      const int type = atom->angle_type[i][m];
      if (type <= 0 || !styles.of_angles().act(type)) continue;
      const std::uint32_t first = partner_of(i, "Angle", atom->angle_atom1[i][m]),
                          center = partner_of(i, "Angle", atom->angle_atom2[i][m]),
                          second = partner_of(i, "Angle", atom->angle_atom3[i][m]);
      const Term of_center{
          center, {std::min(first, second), std::max(first, second)}, type | kAngleCenter};
      for (const Term& term : {Term{first, {center, second}, type | kAngleEnd}, of_center,
                               Term{second, {center, first}, type | kAngleEnd}}) {
        if (term.particle == read_.tag[i])
          own.push_back(term);
        else if (force->newton_bond)
          others.push_back(term);
      }
    }
  }
}

// With newton_bond these terms are kept by their second particle, else by all four.
void AtomTopology::add_four(const FourLists& lists, std::vector<Term>& own,
                            std::vector<Term>& others) const {
  for (int i = 0; i < atom->nlocal; ++i) {
    for (int m = 0; m < lists.number[i]; ++m) {
      const int type = lists.type[i][m];
      if (type <= 0 || !lists.act(type)) continue;
      std::array<std::uint32_t, 4> tag;
      for (std::size_t place = 0; place < 4; ++place)
        tag[place] = partner_of(i, lists.what, lists.atoms[place][i][m]);
      for (std::size_t place = 0; place < 4; ++place) {
        Term term{tag[place], {}, type | (lists.first_role + static_cast<int>(place) * kNextPlace)};
        for (std::size_t k = 0, n = 0; k < 4; ++k)
          if (k != place) term.partner[n++] = tag[k];
        if (term.particle == read_.tag[i])
          own.push_back(term);
        else if (force->newton_bond)
          others.push_back(term);
      }
    }
  }
}

// Sends each term to the rank that has its particle, and receives those of this rank's particles.
void AtomTopology::deliver_terms(MpiCommunicator& communicator, std::vector<Term>& terms) const {
  std::vector<std::uint32_t> particles;
  for (const Term& term : terms) particles.push_back(term.particle);
  const auto origins =
      manymove::find_origins(communicator, particles, atom->nlocal, read_.tag.data());
  std::vector<std::vector<Term>> sent(static_cast<std::size_t>(comm->nprocs));
  for (std::size_t k = 0; k < terms.size(); ++k)
    sent[static_cast<std::size_t>(origins[k].rank)].push_back(terms[k]);
  terms = manymove::deliver(communicator, std::move(sent));
}

// From the lists by owner to lists by all particles: bonds, angles, dihedrals, then impropers, each
// in the order of the partners' IDs.
void AtomTopology::read_bonded(MpiCommunicator& communicator, const BondedStyles& styles) {
  read_.first_bonded.clear();
  read_.bonded_partner.clear();
  read_.bonded_kind.clear();
  if (!(styles.of_bonds().any() || styles.has_wide_terms()) || atom->molecular != kByParticle)
    return;
  const int n = atom->nlocal;
  std::vector<Term> terms, others;
  if (styles.of_bonds().any()) add_bonds(styles, terms, others);
  if (styles.of_angles().any()) add_angles(styles, terms, others);
  if (styles.of_dihedrals().any())
    add_four(
        {"Dihedral",
         kDihedral,
         [&](int type) { return styles.of_dihedrals().act(type); },
         atom->num_dihedral,
         atom->dihedral_type,
         {atom->dihedral_atom1, atom->dihedral_atom2, atom->dihedral_atom3, atom->dihedral_atom4}},
        terms, others);
  if (styles.of_impropers().any())
    add_four(
        {"Improper",
         kImproper,
         [&](int type) { return styles.of_impropers().act(type); },
         atom->num_improper,
         atom->improper_type,
         {atom->improper_atom1, atom->improper_atom2, atom->improper_atom3, atom->improper_atom4}},
        terms, others);
  if (comm->nprocs > 1 && force->newton_bond) deliver_terms(communicator, others);
  terms.insert(terms.end(), others.begin(), others.end());
  check_number("ends of bonds", 3 * terms.size());
  const auto index = [this](const Term& term) {
    return atom->map(static_cast<tagint>(term.particle));
  };
  const auto group = [](const Term& term) {
    return term.kind < kDihedral ? term.partners() : term.kind < kImproper ? 3 : 4;
  };
  // By particle, then within each of them, which has few.
  std::vector<int> begin(static_cast<std::size_t>(n) + 1);
  for (const Term& term : terms) ++begin[index(term) + 1];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<Term> sorted(terms.size());
  std::vector<int> next = begin;
  for (const Term& term : terms) sorted[next[index(term)]++] = term;
  read_.first_bonded.assign(1, 0);
  for (int i = 0; i < n; ++i) {
    const std::span<Term> its(sorted.begin() + begin[i], sorted.begin() + begin[i + 1]);
    std::ranges::sort(its, {}, [&](const Term& term) {
      return std::tuple(group(term), term.partner, term.kind);
    });
    for (const Term& term : its)
      for (std::size_t k = 0; k < static_cast<std::size_t>(term.partners()); ++k) {
        read_.bonded_partner.push_back(term.partner[k]);
        read_.bonded_kind.push_back(k == 0 ? term.kind : kFurtherPartner);
      }
    read_.first_bonded.push_back(static_cast<int>(read_.bonded_partner.size()));
  }
}

// Lists of one rank have indices of 32 bits.
void AtomTopology::check_number(const char* what, std::size_t number) const {
  if (number > std::numeric_limits<int>::max())
    throw std::runtime_error(
        manymove::text_of(number, " ", what, " on one rank, at most 2^31 - 1"));
}

// ---- special neighbors ----

void AtomTopology::read_special(bool of_charges) {
  read_.first_special.clear();
  read_.special_partner.clear();
  read_.special_kind.clear();
  bool counts[4] = {};
  for (int kind = 1; kind < 4; ++kind)
    counts[kind] = force->special_lj[kind] != 1 || (of_charges && force->special_coul[kind] != 1);
  if (atom->molecular != kByParticle || !(counts[1] || counts[2] || counts[3])) return;
  read_.first_special.push_back(0);
  for (int i = 0; i < atom->nlocal; ++i) {
    for (int m = 0; m < atom->nspecial[i][2]; ++m) {
      const int kind = m < atom->nspecial[i][0] ? 1 : m < atom->nspecial[i][1] ? 2 : 3;
      if (!counts[kind]) continue;
      read_.special_partner.push_back(static_cast<std::uint32_t>(atom->special[i][m]));
      read_.special_kind.push_back(static_cast<std::uint8_t>(kind));
    }
    read_.first_special.push_back(static_cast<int>(read_.special_partner.size()));
  }
  check_number("special neighbors", read_.special_partner.size());
}

manymove::dpd::Topology AtomTopology::view(const std::vector<std::uint32_t>& flags) const {
  manymove::dpd::Topology topology{};
  topology.type = read_.kind.data();
  topology.tag = read_.tag.data();
  topology.flags = flags.data();
  if (!read_.bonded_partner.empty()) {
    topology.first_bond = read_.first_bonded.data();
    topology.bond_partner = read_.bonded_partner.data();
    topology.bond_type = read_.bonded_kind.data();
  }
  if (!read_.special_partner.empty()) {
    topology.first_special = read_.first_special.data();
    topology.special_partner = read_.special_partner.data();
    topology.special_kind = read_.special_kind.data();
  }
  return topology;
}
