// SPDX-License-Identifier: BSD-3-Clause
// Who is bonded to whom, and who is a special neighbour of whom, for the resident engine on the
// CPU.
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

// By slot, each particle's in the order in which they come.
struct PartnerLists {
  std::vector<int> first, kind;
  std::vector<std::uint32_t> partner;

  // Tags become slots, of partners too where `as_slots`.
  void take(const std::vector<Link>& links, const TagTable& slots, bool as_slots) {
    first.assign(static_cast<std::size_t>(slots.size()) + 1, 0);
    for (const Link& link : links) ++first[static_cast<std::size_t>(slots.find(link.tag)) + 1];
    for (std::size_t k = 1; k < first.size(); ++k) first[k] += first[k - 1];
    std::vector<int> next = first;
    kind.resize(links.size());
    partner.resize(links.size());
    for (const Link& link : links) {
      const auto k =
          static_cast<std::size_t>(next[static_cast<std::size_t>(slots.find(link.tag))]++);
      kind[k] = link.kind;
      partner[k] = as_slots ? static_cast<std::uint32_t>(slots.find(link.partner)) : link.partner;
    }
  }
  Partners view() const { return {first.data(), partner.data(), kind.data()}; }
};

}  // namespace manymove::dpd
