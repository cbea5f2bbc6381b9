// SPDX-License-Identifier: GPL-2.0-or-later
#include "translation/atom_topology.h"

#include <algorithm>
#include <limits>
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
using manymove::dpd::kSecondOfAngle;

namespace {

constexpr int kByParticle = 1;  // Atom::molecular: topology is kept by particle

}  // namespace

// A bond or an angle, seen from one of its particles: one partner, or the two of an angle.
struct AtomTopology::Term {
  std::uint32_t particle, partner, second;
  int kind;
};

void AtomTopology::read_tags() { read_.tag.assign(atom->tag, atom->tag + atom->nlocal); }

void AtomTopology::read_types(const ParticleClasses& classes) {
  read_.kind.resize(static_cast<std::size_t>(atom->nlocal));
  for (int i = 0; i < atom->nlocal; ++i) read_.kind[i] = classes.of(i);
}

// ---- bonds and angles ----

std::uint32_t AtomTopology::partner_of(int i, const char* what, std::int64_t tag) const {
  if (atom->map(static_cast<tagint>(tag)) < 0)
    throw std::runtime_error(manymove::text_of(what, " atoms ", read_.tag[i], " ", tag,
                                               " missing at step ", update->ntimestep));
  return static_cast<std::uint32_t>(tag);
}

// Types that are not positive are switched off.
void AtomTopology::add_bonds(std::vector<Term>& own, std::vector<Term>& others) const {
  for (int i = 0; i < atom->nlocal; ++i) {
    for (int m = 0; m < atom->num_bond[i]; ++m) {
      const int type = atom->bond_type[i][m];
      if (type <= 0) continue;
      const std::uint32_t partner = partner_of(i, "Bond", atom->bond_atom[i][m]);
      own.push_back({read_.tag[i], partner, 0, type});
      if (force->newton_bond) others.push_back({partner, read_.tag[i], 0, type});
    }
  }
}

// With newton_bond an angle is kept by its center, else by all three.
void AtomTopology::add_angles(std::vector<Term>& own, std::vector<Term>& others) const {
  for (int i = 0; i < atom->nlocal; ++i) {
    for (int m = 0; m < atom->num_angle[i]; ++m) {
      const int type = atom->angle_type[i][m];
      if (type <= 0) continue;
      const std::uint32_t first = partner_of(i, "Angle", atom->angle_atom1[i][m]),
                          center = partner_of(i, "Angle", atom->angle_atom2[i][m]),
                          second = partner_of(i, "Angle", atom->angle_atom3[i][m]);
      const Term of_center{center, std::min(first, second), std::max(first, second),
                           type | kAngleCenter};
      for (const Term& term : {Term{first, center, second, type | kAngleEnd}, of_center,
                               Term{second, center, first, type | kAngleEnd}}) {
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

// From the lists by owner to lists by all particles: bonds, then angles, each in the order of the
// partners' IDs.
void AtomTopology::read_bonded(MpiCommunicator& communicator, bool bonds, bool angles) {
  read_.first_bonded.clear();
  read_.bonded_partner.clear();
  read_.bonded_kind.clear();
  if (!(bonds || angles) || atom->molecular != kByParticle) return;
  const int n = atom->nlocal;
  std::vector<Term> terms, others;
  if (bonds) add_bonds(terms, others);
  if (angles) add_angles(terms, others);
  if (comm->nprocs > 1 && force->newton_bond) deliver_terms(communicator, others);
  terms.insert(terms.end(), others.begin(), others.end());
  check_number("ends of bonds", 2 * terms.size());
  const auto index = [this](const Term& term) {
    return atom->map(static_cast<tagint>(term.particle));
  };
  const auto is_angle = [](const Term& term) { return manymove::dpd::is_of_angle(term.kind); };
  std::ranges::sort(terms, {}, [&](const Term& term) {
    return std::tuple(index(term), is_angle(term), term.partner, term.second, term.kind);
  });
  read_.first_bonded.assign(static_cast<std::size_t>(n) + 1, 0);
  for (const Term& term : terms) {
    read_.first_bonded[index(term) + 1] += is_angle(term) ? 2 : 1;
    read_.bonded_partner.push_back(term.partner);
    read_.bonded_kind.push_back(term.kind);
    if (!is_angle(term)) continue;
    read_.bonded_partner.push_back(term.second);
    read_.bonded_kind.push_back(kSecondOfAngle);
  }
  for (int i = 0; i < n; ++i) read_.first_bonded[i + 1] += read_.first_bonded[i];
}

// Lists of one rank have indices of 32 bits.
void AtomTopology::check_number(const char* what, std::size_t number) const {
  if (number > std::numeric_limits<int>::max())
    throw std::runtime_error(
        manymove::text_of(number, " ", what, " on one rank, at most 2^31 - 1"));
}

// ---- special neighbors ----

void AtomTopology::read_special() {
  read_.first_special.clear();
  read_.special_partner.clear();
  read_.special_kind.clear();
  const double* factor = force->special_lj;
  if (atom->molecular != kByParticle || (factor[1] == 1 && factor[2] == 1 && factor[3] == 1))
    return;
  read_.first_special.push_back(0);
  for (int i = 0; i < atom->nlocal; ++i) {
    for (int m = 0; m < atom->nspecial[i][2]; ++m) {
      const int kind = m < atom->nspecial[i][0] ? 1 : m < atom->nspecial[i][1] ? 2 : 3;
      if (factor[kind] == 1) continue;
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
