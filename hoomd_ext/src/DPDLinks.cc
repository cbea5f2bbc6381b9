// SPDX-License-Identifier: BSD-3-Clause
// Bonds, angles and pairs without pair forces, as the engine of DPD takes them.
#include <algorithm>
#include <tuple>

#include "DPDParticles.h"
#include "core/runtime/text.h"

namespace manymove::host {

namespace {

// The excluded pairs of a particle include all other particles of its body.
constexpr std::size_t kLargestBody = 128;

// A bond, an angle or an excluded pair, seen from one of its particles.
struct Term {
  int particle;  // index
  std::uint32_t partner, second;
  int kind;

  bool operator<(const Term& other) const {
    const auto order = [](const Term& term) {
      return std::tuple(term.particle, dpd::has_several_partners(term.kind), term.partner,
                        term.second, term.kind);
    };
    return order(*this) < order(other);
  }
};

// Terms by particle: entries first[i] .. first[i + 1] belong to particle i.
void count_terms(const std::vector<Term>& terms, std::size_t particles, std::vector<int>& first) {
  first.assign(particles + 1, 0);
  for (const Term& term : terms)
    first[static_cast<std::size_t>(term.particle) + 1] +=
        dpd::has_several_partners(term.kind) ? 2 : 1;
  for (std::size_t i = 0; i < particles; ++i) first[i + 1] += first[i];
}

// Calls visit(first, last) with each range of sorted pairs that begin with the same number.
template <class Pairs, class Visit>
void for_each_range(const Pairs& pairs, Visit&& visit) {
  for (auto first = pairs.begin(); first != pairs.end();) {
    const auto last =
        std::find_if(first, pairs.end(), [&](const auto& pair) { return pair[0] != (*first)[0]; });
    visit(first, last);
    first = last;
  }
}

}  // namespace

DPD::Pairs DPD::all_bonds() const {
  Pairs bonds;
  if (!excludes("1-3") && !excludes("1-4")) return bonds;
  const HostArray<unsigned int> index(m_pdata->getRTags());
  // Each bond is taken from the rank that has its first particle.
  for_each_group(*m_sysdef->getBondData(), [&](const auto& tag, unsigned int) {
    if (index.data[tag[0]] < m_pdata->getN()) bonds.push_back({tag[0], tag[1]});
  });
  among_ranks([&](Communicator& ranks) { bonds = collect(ranks, std::move(bonds)); });
  return bonds;
}

DPD::Pairs DPD::all_bodies() const {
  Pairs bodies;
  if (!excludes("body")) return bodies;
  const HostArray<unsigned int> body(m_pdata->getBodies());
  const HostArray<unsigned int> tag(m_pdata->getTags());
  for (unsigned int i = 0; i < m_pdata->getN(); ++i)
    if (body.data[i] != hoomd::NO_BODY) bodies.push_back({body.data[i], tag.data[i]});
  among_ranks([&](Communicator& ranks) { bodies = collect(ranks, std::move(bodies)); });
  std::sort(bodies.begin(), bodies.end());
  return bodies;
}

// Calls exclude(tag, tag) with each pair without pair forces that has a particle of this rank, and
// possibly with pairs of other ranks.
template <class Exclude>
void DPD::for_each_exclusion(const Pairs& all_bonds, const Pairs& all_bodies,
                             Exclude&& exclude) const {
  const auto first_and = [&](int last) {
    return [&exclude, last](const auto& tag, unsigned int) { exclude(tag[0], tag[last]); };
  };
  if (excludes("bond")) for_each_group(*m_sysdef->getBondData(), first_and(1));
  if (excludes("angle")) for_each_group(*m_sysdef->getAngleData(), first_and(2));
  if (excludes("dihedral")) for_each_group(*m_sysdef->getDihedralData(), first_and(3));
  if (excludes("special_pair")) for_each_group(*m_sysdef->getPairData(), first_and(1));
  if (excludes("constraint")) for_each_group(*m_sysdef->getConstraintData(), first_and(1));
  Pairs partners;  // of all particles, by bonds
  for (const auto& bond : all_bonds) {
    partners.push_back(bond);
    partners.push_back({bond[1], bond[0]});
  }
  std::sort(partners.begin(), partners.end());
  if (excludes("1-3"))
    for_each_range(partners, [&](auto first, auto last) {
      for (auto i = first; i != last; ++i)
        for (auto j = first; j != i; ++j) exclude((*i)[1], (*j)[1]);
    });
  if (excludes("1-4"))
    for (const auto& bond : all_bonds) {
      const auto of = [&](unsigned int tag) {
        return std::equal_range(partners.begin(), partners.end(), Pairs::value_type{tag, 0},
                                [](const auto& a, const auto& b) { return a[0] < b[0]; });
      };
      const auto [first, first_end] = of(bond[0]);
      const auto [second, second_end] = of(bond[1]);
      for (auto i = first; i != first_end; ++i)
        for (auto j = second; j != second_end; ++j)
          if ((*i)[1] != bond[1] && (*j)[1] != bond[0]) exclude((*i)[1], (*j)[1]);
    }
  for_each_range(all_bodies, [&](auto first, auto last) {
    const auto size = static_cast<std::size_t>(last - first);
    if (size > kLargestBody)
      refuse(text_of(": the exclusion \"body\" is for bodies of at most ", kLargestBody,
                     " particles, and a body has ", size, ": leave \"body\" out of exclusions"));
    for (auto i = first; i != last; ++i)
      for (auto j = first; j != i; ++j) exclude((*i)[1], (*j)[1]);
  });
}

DPD::Links DPD::read_links(const Pairs& all_bonds, const Pairs& all_bodies) const {
  const std::size_t N = m_pdata->getN();
  const HostArray<unsigned int> index(m_pdata->getRTags());
  std::vector<Term> terms, excluded;
  const auto add = [&](std::vector<Term>& to, unsigned int tag, std::uint32_t partner,
                       std::uint32_t second, int kind) {
    if (const unsigned int i = index.data[tag]; i < N)  // on this rank
      to.push_back({static_cast<int>(i), partner, second, kind});
  };
  for_each_group(*m_sysdef->getBondData(), [&](const auto& tag, unsigned int type) {
    for (std::size_t k = 0; k < bonds_.size(); ++k) {
      if (bonds_[k].type != type) continue;
      add(terms, tag[0], engine_tag(tag[1]), 0, static_cast<int>(k + 1));
      add(terms, tag[1], engine_tag(tag[0]), 0, static_cast<int>(k + 1));
    }
  });
  for_each_group(*m_sysdef->getAngleData(), [&](const auto& tag, unsigned int type) {
    const std::uint32_t first = engine_tag(tag[0]), center = engine_tag(tag[1]),
                        last = engine_tag(tag[2]);
    for (std::size_t k = 0; k < angles_.size(); ++k) {
      if (angles_[k].type != type) continue;
      const int kind = static_cast<int>(k + 1);
      add(terms, tag[0], center, last, kind | dpd::kAngleEnd);
      add(terms, tag[1], std::min(first, last), std::max(first, last), kind | dpd::kAngleCenter);
      add(terms, tag[2], center, first, kind | dpd::kAngleEnd);
    }
  });
  for_each_exclusion(all_bonds, all_bodies, [&](unsigned int i, unsigned int j) {
    if (i == j) return;  // for example in a ring of three bonds
    add(excluded, i, engine_tag(j), 0, 0);
    add(excluded, j, engine_tag(i), 0, 0);
  });
  Links links;
  std::sort(terms.begin(), terms.end());
  count_terms(terms, N, links.first_bonded);
  for (const Term& term : terms) {
    links.bonded_partner.push_back(term.partner);
    links.bonded_kind.push_back(term.kind);
    if (!dpd::has_several_partners(term.kind)) continue;
    links.bonded_partner.push_back(term.second);
    links.bonded_kind.push_back(dpd::kFurtherPartner);
  }
  std::sort(excluded.begin(), excluded.end());
  const auto same = [](const Term& one, const Term& other) {
    return one.particle == other.particle && one.partner == other.partner;
  };
  excluded.erase(std::unique(excluded.begin(), excluded.end(), same), excluded.end());
  count_terms(excluded, N, links.first_excluded);
  for (const Term& term : excluded) links.excluded_partner.push_back(term.partner);
  links.excluded_kind.assign(excluded.size(), 1);
  return links;
}

}  // namespace manymove::host
