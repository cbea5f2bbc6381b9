// SPDX-License-Identifier: GPL-2.0-or-later
#include "translation/atom_topology.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <span>
#include <stdexcept>
#include <tuple>
#include <utility>

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

// LAMMPS' lists of bonds, angles, dihedrals or impropers, by the particles that keep them.
struct AtomTopology::TermLists {
  const char* what;
  const int* number;
  int* const* type;
  std::vector<tagint* const*> atoms;  // in the order of their places; null: the particle itself
  std::array<int, 4> role;            // of each place
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

// With newton_bond a bond is kept by one of its particles, an angle by its center, and a term of
// four by its second particle, else by all of them. Types that are not positive are switched off.
void AtomTopology::add_terms(const auto& styles, const TermLists& lists, std::vector<Term>& own,
                             std::vector<Term>& others) const {
  const std::size_t places = lists.atoms.size();
  for (int i = 0; styles.any() && i < atom->nlocal; ++i) {
    for (int m = 0; m < lists.number[i]; ++m) {
      const int type = lists.type[i][m];
      if (type <= 0 || !styles.act(type)) continue;
      std::array<std::uint32_t, 4> tag;
      for (std::size_t place = 0; place < places; ++place)
        tag[place] =
            lists.atoms[place] ? partner_of(i, lists.what, lists.atoms[place][i][m]) : read_.tag[i];
      for (std::size_t place = 0; place < places; ++place) {
        Term term{tag[place], {}, type | lists.role[place]};
        for (std::size_t k = 0, n = 0; k < places; ++k)
          if (k != place) term.partner[n++] = tag[k];
        // An end of an angle has the center first, and the center the ends in the order of IDs.
        const bool turned = place == 2 || (place == 1 && term.partner[0] > term.partner[1]);
        if (places == 3 && turned) std::swap(term.partner[0], term.partner[1]);
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
  const auto roles_of_four = [](int first) {
    return std::array{first, first + kNextPlace, first + 2 * kNextPlace, first + 3 * kNextPlace};
  };
  const Atom& a = *atom;
  add_terms(styles.of_bonds(), {"Bond", a.num_bond, a.bond_type, {nullptr, a.bond_atom}, {}}, terms,
            others);
  add_terms(styles.of_angles(),
            {"Angle",
             a.num_angle,
             a.angle_type,
             {a.angle_atom1, a.angle_atom2, a.angle_atom3},
             {kAngleEnd, kAngleCenter, kAngleEnd}},
            terms, others);
  add_terms(styles.of_dihedrals(),
            {"Dihedral",
             a.num_dihedral,
             a.dihedral_type,
             {a.dihedral_atom1, a.dihedral_atom2, a.dihedral_atom3, a.dihedral_atom4},
             roles_of_four(kDihedral)},
            terms, others);
  add_terms(styles.of_impropers(),
            {"Improper",
             a.num_improper,
             a.improper_type,
             {a.improper_atom1, a.improper_atom2, a.improper_atom3, a.improper_atom4},
             roles_of_four(kImproper)},
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
