// SPDX-License-Identifier: BSD-3-Clause
// Bonds and special neighbors of a rank's particles, for the resident engine on the CPU.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "../../runtime/parallel_for.h"
#include "../decomposition.h"
#include "../engine_base.h"
#include "step_arguments.h"

namespace manymove::dpd {

// Numbers tags from 0 on, in the order in which they come.
class TagTable {
 public:
  int size() const { return size_; }
  void clear() {
    size_ = 0;
    entry_.clear();
  }
  int add(std::uint32_t tag) {
    if (2 * (static_cast<std::size_t>(size_) + 1) > entry_.size()) grow();
    Entry& entry = entry_[place_of(tag)];
    if (entry.slot < 0) entry = {tag, size_++};
    return entry.slot;
  }
  // -1 for others.
  int find(std::uint32_t tag) const { return entry_.empty() ? -1 : entry_[place_of(tag)].slot; }

 private:
  struct Entry {
    std::uint32_t tag = 0;
    int slot = -1;
  };
  // Where the tag is, or would be; the number of entries is a power of two.
  std::size_t place_of(std::uint32_t tag) const {
    const std::size_t mask = entry_.size() - 1;
    std::size_t at = (tag * 0x9E3779B97F4A7C15u) >> 32 & mask;
    while (entry_[at].slot >= 0 && entry_[at].tag != tag) at = (at + 1) & mask;
    return at;
  }
  void grow() {
    std::vector<Entry> old(std::max<std::size_t>(64, 2 * entry_.size()));
    old.swap(entry_);
    for (const Entry& entry : old)
      if (entry.slot >= 0) entry_[place_of(entry.tag)] = entry;
  }

  std::vector<Entry> entry_;
  int size_ = 0;
};

// A bond or a special neighbor, seen from one end. In a list of them, those of one particle follow
// each other, in the order in which the host program has them.
struct Link {
  std::uint32_t tag, partner;
  std::int32_t kind;  // type of the bond, or kind of special neighbor
};
using Links = std::vector<Link>;

template <class Kind>
Links links_of(int count, const std::uint32_t* tag, const int* first, const std::uint32_t* partner,
               const Kind* kind) {
  Links links;
  for (int i = 0; first && i < count; ++i)
    for (int k = first[i]; k < first[i + 1]; ++k) links.push_back({tag[i], partner[k], kind[k]});
  return links;
}

// Calls work(link, slot of its tag).
template <class Work>
void for_each_slot(const Links& links, const TagTable& slots, Work work) {
  std::uint32_t tag = 0;
  int slot = -1;
  for (const Link& link : links) {
    if (slot < 0 || link.tag != tag) slot = slots.find(tag = link.tag);
    work(link, static_cast<std::size_t>(slot));
  }
}

// By slot.
struct PartnerLists {
  std::vector<int> first, kind;
  std::vector<std::uint32_t> partner;

  // Tags become slots, of partners too where `as_slots`.
  void take(const Links& links, const TagTable& slots, bool as_slots) {
    first.assign(static_cast<std::size_t>(slots.size()) + 1, 0);
    for_each_slot(links, slots, [&](const Link&, std::size_t slot) { ++first[slot + 1]; });
    for (std::size_t k = 1; k < first.size(); ++k) first[k] += first[k - 1];
    std::vector<int> next = first;
    kind.resize(links.size());
    partner.resize(links.size());
    for_each_slot(links, slots, [&](const Link& link, std::size_t slot) {
      const auto k = static_cast<std::size_t>(next[slot]++);
      kind[k] = link.kind;
      partner[k] = as_slots ? static_cast<std::uint32_t>(slots.find(link.partner)) : link.partner;
    });
  }
  Partners view() const { return {first.data(), partner.data(), kind.data()}; }
};

// The bonds and the special neighbors of a rank's particles, which take them along when they go to
// another rank. Slots are of these particles and of their partners.
class RankLinks {
 public:
  // communicator: null for one rank; otherwise all ranks make the same calls.
  void take(int count, const Topology& t, Communicator* communicator) {
    bonds_ = links_of(count, t.tag, t.first_bond, t.bond_partner, t.bond_type);
    specials_ = links_of(count, t.tag, t.first_special, t.special_partner, t.special_kind);
    std::int64_t anywhere[2] = {!bonds_.empty(), !specials_.empty()};
    if (communicator) communicator->maximum(anywhere, 2);
    any_bonds_ = anywhere[0] != 0;
    any_specials_ = anywhere[1] != 0;
    number();
  }

  // Whether any rank has links.
  bool any_bonds() const { return any_bonds_; }
  bool any_specials() const { return any_specials_; }
  // Ends of bonds, and special neighbors, of this rank.
  std::size_t size() const { return bonds_.size() + specials_.size(); }

  const TagTable& slots() const { return slots_; }
  Partners bonds() const { return bonds_by_slot_.view(); }
  Partners specials() const { return specials_by_slot_.view(); }

  // Before migrate(), for each particle that goes to another rank.
  void leave(std::uint32_t tag, int rank) {
    if (const int slot = slots_.find(tag); slot >= 0) to_[static_cast<std::size_t>(slot)] = rank;
  }
  void migrate(Communicator& communicator) {
    bool changed = false;
    if (any_bonds_) changed = migrate(bonds_, communicator);
    if (any_specials_) changed = migrate(specials_, communicator) || changed;
    if (changed) number();
  }

 private:
  // Returns whether links were sent or received.
  bool migrate(Links& links, Communicator& communicator) const {
    std::vector<Links> leaving(static_cast<std::size_t>(communicator.ranks()));
    Links stay;
    stay.reserve(links.size());
    for_each_slot(links, slots_, [&](const Link& link, std::size_t slot) {
      (to_[slot] < 0 ? stay : leaving[static_cast<std::size_t>(to_[slot])]).push_back(link);
    });
    const Links come = deliver(communicator, std::move(leaving));
    const bool changed = stay.size() < links.size() || !come.empty();
    links = std::move(stay);
    links.insert(links.end(), come.begin(), come.end());
    return changed;
  }

  void number() {
    slots_.clear();
    for (const Link& link : bonds_) {
      slots_.add(link.tag);
      slots_.add(link.partner);
    }
    for (const Link& link : specials_) slots_.add(link.tag);
    bonds_by_slot_.take(bonds_, slots_, true);
    specials_by_slot_.take(specials_, slots_, false);
    to_.assign(static_cast<std::size_t>(slots_.size()), -1);
  }

  TagTable slots_;
  Links bonds_, specials_;
  PartnerLists bonds_by_slot_, specials_by_slot_;
  std::vector<int> to_;  // rank to which a particle goes, by slot; -1: it stays
  bool any_bonds_ = false, any_specials_ = false;
};

// Where the particles that have links, and their partners, are among a rank's particles and ghosts.
class LinkIndices {
 public:
  // velocity: velocities and tags of particles and ghosts; special: as in PairTable. Returns the
  // arguments, without bonded terms.
  template <Precision P>
  BondedArguments<P> find(ThreadPool& pool, const RankLinks& links,
                          const std::vector<typename P::Velocity>& velocity,
                          const double special[4]) {
    slot_.resize(velocity.size());
    where_.assign(static_cast<std::size_t>(links.slots().size()), -1);
    for_each_index(pool, static_cast<int>(slot_.size()), [&](int i) {
      slot_[i] = links.slots().find(velocity[i].tag);
      if (slot_[i] >= 0) where_[slot_[i]] = i;
    });
    BondedArguments<P> arguments;
    arguments.slot = slot_.data();
    arguments.where = where_.data();
    arguments.bonds = links.bonds();
    arguments.specials = links.specials();
    for (int kind = 1; kind < 4; ++kind) arguments.excluded[kind] = special[kind] == 0;
    return arguments;
  }
  // After find(): partners that are missing to the first `count` particles, the rank's own.
  template <class Velocity>
  MissingPartners missing(const RankLinks& links, int count,
                          const std::vector<Velocity>& velocity) const {
    MissingPartners missing;
    const Partners bonds = links.bonds();
    for (int i = 0; links.size() > 0 && i < count; ++i)
      if (const int slot = slot_[i]; slot >= 0)
        for (int k = bonds.first[slot]; k < bonds.first[slot + 1]; ++k)
          if (where_[bonds.partner[k]] < 0)
            missing.tag[is_of_angle(bonds.kind[k])] = velocity[i].tag;
    return missing;
  }

 private:
  std::vector<int> slot_, where_;
};

}  // namespace manymove::dpd
