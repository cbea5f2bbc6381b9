// SPDX-License-Identifier: BSD-3-Clause
// Bonds and special neighbors of a rank's particles, for the resident engine on the CPU.
#pragma once

#include <vector>

#include "cpu_resident.h"
#include "decomposition.h"

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

// A bond or a special neighbor, seen from one end.
struct Link {
  std::uint32_t tag, partner;
  std::int32_t kind;  // type of the bond, or kind of special neighbor
};

// Links by slot, those of a particle in the order in which the host program has them.
class LinkLists {
 public:
  bool empty() const { return links_.empty(); }
  std::size_t size() const { return links_.size(); }

  template <class Kind>
  void take(int count, const std::uint32_t* tag, const int* first, const std::uint32_t* partner,
            const Kind* kind) {
    links_.clear();
    for (int i = 0; first && i < count; ++i)
      for (int k = first[i]; k < first[i + 1]; ++k)
        links_.push_back({tag[i], partner[k], static_cast<std::int32_t>(kind[k])});
  }

  // Links of particles with another rank in to[slot] go there (-1: they stay), and those of
  // particles that come here follow. Returns whether there were any.
  bool travel(const TagTable& slots, const std::vector<int>& to, Communicator& communicator) {
    std::vector<std::vector<Link>> leaving(static_cast<std::size_t>(communicator.ranks()));
    std::size_t stay = 0;
    for_each(slots, [&](const Link& link, int slot) {
      const int rank = to[static_cast<std::size_t>(slot)];
      if (rank < 0)
        links_[stay++] = link;
      else
        leaving[static_cast<std::size_t>(rank)].push_back(link);
    });
    const bool changed = stay < links_.size();
    links_.resize(stay);
    const std::vector<Link> arrived = deliver(communicator, leaving);
    links_.insert(links_.end(), arrived.begin(), arrived.end());
    return changed || !arrived.empty();
  }

  void number(TagTable& slots, bool partners) const {
    for (const Link& link : links_) {
      slots.add(link.tag);
      if (partners) slots.add(link.partner);
    }
  }
  // Partners become slots where `as_slots`, else they stay tags.
  void sort(const TagTable& slots, bool as_slots) {
    first_.assign(static_cast<std::size_t>(slots.size()) + 1, 0);
    for_each(slots, [&](const Link&, int slot) { ++first_[static_cast<std::size_t>(slot) + 1]; });
    for (std::size_t k = 1; k < first_.size(); ++k) first_[k] += first_[k - 1];
    std::vector<int> next = first_;
    kind_.resize(links_.size());
    partner_.resize(links_.size());
    for_each(slots, [&](const Link& link, int slot) {
      const auto k = static_cast<std::size_t>(next[static_cast<std::size_t>(slot)]++);
      kind_[k] = link.kind;
      partner_[k] = as_slots ? static_cast<std::uint32_t>(slots.find(link.partner)) : link.partner;
    });
  }
  Partners view() const { return {first_.data(), partner_.data(), kind_.data()}; }

 private:
  // Calls work(link, slot); links of one particle follow each other.
  template <class Work>
  void for_each(const TagTable& slots, Work work) const {
    std::uint32_t tag = 0;
    int slot = -1;
    for (const Link& link : links_) {
      if (link.tag != tag) slot = slots.find(tag = link.tag);
      work(link, slot);
    }
  }

  std::vector<Link> links_;
  std::vector<int> first_, kind_;
  std::vector<std::uint32_t> partner_;
};

// Those of the rank's particles, which take them along when they go to another rank. Slots are of
// these particles and of their partners.
class RankLinks {
 public:
  // communicator: null for one rank; otherwise all ranks make the same calls.
  void take(int count, const Topology& t, Communicator* communicator) {
    bonds_.take(count, t.tag, t.first_bond, t.bond_partner, t.bond_type);
    specials_.take(count, t.tag, t.first_special, t.special_partner, t.special_kind);
    std::int64_t anywhere[2] = {!bonds_.empty(), !specials_.empty()};
    if (communicator) communicator->maximum(anywhere, 2);
    has_bonds_ = anywhere[0] != 0;
    has_specials_ = anywhere[1] != 0;
    number();
  }

  // Whether any rank has some.
  bool has_specials() const { return has_specials_; }
  const TagTable& slots() const { return slots_; }
  const LinkLists& bonds() const { return bonds_; }
  const LinkLists& specials() const { return specials_; }

  // Before travel(), of a particle that goes to another rank.
  void leave(std::uint32_t tag, int rank) {
    if (const int slot = slots_.find(tag); slot >= 0) to_[static_cast<std::size_t>(slot)] = rank;
  }
  void travel(Communicator& communicator) {
    bool changed = false;
    if (has_bonds_) changed = bonds_.travel(slots_, to_, communicator);
    if (has_specials_) changed = specials_.travel(slots_, to_, communicator) || changed;
    if (changed) number();
  }

 private:
  void number() {
    slots_.clear();
    bonds_.number(slots_, true);
    specials_.number(slots_, false);
    bonds_.sort(slots_, true);
    specials_.sort(slots_, false);
    to_.assign(static_cast<std::size_t>(slots_.size()), -1);
  }

  TagTable slots_;
  LinkLists bonds_, specials_;
  std::vector<int> to_;  // rank, by slot
  bool has_bonds_ = false, has_specials_ = false;
};

}  // namespace manymove::dpd
