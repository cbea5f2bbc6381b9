// SPDX-License-Identifier: BSD-3-Clause
// Bonds and special neighbors as words that travel with a particle, the rows of these words on the
// GPUs of several ranks, and a table that leads from a tag to the particle. The CPU has rows of its
// own (cpu/step_arguments.h). Plain functions of host and device, which tests/cxx/test_links.cpp
// runs on the CPU.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "../runtime/macros.h"
#include "engine.h"

namespace manymove::dpd {

// A bond or a special neighbor, seen from one end: the partner's tag in the low half; the type of
// the bond, or the kind of special neighbor, in the high half.
using LinkWord = std::uint64_t;
MM_HD LinkWord link_word(std::uint32_t partner, std::uint32_t kind) {
  return static_cast<LinkWord>(kind) << 32 | partner;
}
MM_HD std::uint32_t partner_of(LinkWord link) { return static_cast<std::uint32_t>(link); }
MM_HD std::uint32_t kind_of(LinkWord link) { return static_cast<std::uint32_t>(link >> 32); }

struct LinkSpan {
  const LinkWord* first;
  std::uint32_t count;
};

// A row has a word with two numbers, of bonds (low half) and of special neighbors, then room for
// the most bonds and for the most special neighbors that any particle of any rank has at upload.
// All rows have the same length, so that a particle can take any free slot: they cost
// 8 (1 + bonds + specials) bytes per particle of the rank, linked or not. For a melt of linear
// chains with special neighbors up to the third (2 bonds, 6 special neighbors), this is 72 bytes.
// Links keep the order in which the host program has them.
struct LinkRows {
  LinkWord* word = nullptr;  // [slots][words()]
  std::uint32_t bonds = 0, specials = 0;

  MM_HD std::uint32_t words() const { return bonds + specials ? 1 + bonds + specials : 0; }
  MM_HD LinkWord* row(std::uint32_t slot) const {
    return word + static_cast<std::size_t>(slot) * words();
  }
  MM_HD LinkSpan bonds_of(std::uint32_t slot) const {
    const LinkWord* r = row(slot);
    return {r + 1, static_cast<std::uint32_t>(r[0])};
  }
  MM_HD LinkSpan specials_of(std::uint32_t slot) const {
    const LinkWord* r = row(slot);
    return {r + 1 + bonds, static_cast<std::uint32_t>(r[0] >> 32)};
  }
};

// A record on its way to another rank is followed by the row of the particle.
MM_HD LinkWord* row_behind(void* record, std::size_t record_bytes) {
  return reinterpret_cast<LinkWord*>(static_cast<char*>(record) + record_bytes);
}
MM_HD void copy_row(const LinkWord* from, std::uint32_t words, LinkWord* to) {
  for (std::uint32_t w = 0; w < words; ++w) to[w] = from[w];
}
// Bytes from one record to the next; records and rows are aligned to 16 bytes.
inline std::size_t bytes_with_row(std::size_t record_bytes, const LinkRows& rows) {
  return (record_bytes + rows.words() * sizeof(LinkWord) + 15) / 16 * 16;
}

// The most entries of one particle in lists from first[i] to before first[i + 1].
inline std::int64_t most_links(int count, const int* first) {
  std::int64_t most = 0;
  for (int i = 0; first && i < count; ++i)
    most = std::max<std::int64_t>(most, first[i + 1] - first[i]);
  return most;
}

// Calls bond(word) for each bond of particle i, then special(word) for each special neighbor.
template <class Bond, class Special>
void for_each_link(const Topology& t, int i, const Bond& bond, const Special& special) {
  if (t.first_bond)
    for (int k = t.first_bond[i]; k < t.first_bond[i + 1]; ++k)
      bond(link_word(t.bond_partner[k], static_cast<std::uint32_t>(t.bond_type[k])));
  if (t.first_special)
    for (int k = t.first_special[i]; k < t.first_special[i + 1]; ++k)
      special(link_word(t.special_partner[k], t.special_kind[k]));
}

// The rows of particles 0 to count - 1, one after the other; rows.word is not used.
inline std::vector<LinkWord> rows_of(int count, const Topology& t, const LinkRows& rows) {
  std::vector<LinkWord> words(static_cast<std::size_t>(count) * rows.words());
  LinkRows host = rows;
  host.word = words.data();
  for (int i = 0; words.size() && i < count; ++i) {
    LinkWord* const row = host.row(static_cast<std::uint32_t>(i));
    std::uint32_t bonds = 0, specials = 0;
    for_each_link(
        t, i, [&](LinkWord link) { row[1 + bonds++] = link; },
        [&](LinkWord link) { row[1 + rows.bonds + specials++] = link; });
    row[0] = link_word(bonds, specials);
  }
  return words;
}

// Indices of particles by their tags: a table with open addressing, at most half full. Particles
// may be added in any order, also by many threads; each tag is added once. What find() returns does
// not depend on the order.
struct TagIndex {
  std::uint64_t* entry = nullptr;  // [1 << bits]: tag and index, 0 where empty (no tag is 0)
  int bits = 0;

  static constexpr std::uint32_t kMissing = 0xffffffffu;

  // The size of a table for this many particles.
  static int bits_for(std::int64_t particles) {
    int bits = 6;
    while (std::int64_t(1) << bits < 2 * particles) ++bits;
    return bits;
  }
  // claim(e, value) writes value to the entry if it is empty and tells whether it was.
  template <class Claim>
  MM_HD void add(std::uint32_t tag, std::uint32_t index, const Claim& claim) const {
    const std::uint64_t value = static_cast<std::uint64_t>(tag) << 32 | index;
    for (std::uint32_t at = begin(tag); !claim(entry + at, value); at = after(at)) {
    }
  }
  MM_HD std::uint32_t find(std::uint32_t tag) const {
    for (std::uint32_t at = begin(tag);; at = after(at)) {
      const std::uint64_t value = entry[at];
      if (value == 0) return kMissing;
      if (value >> 32 == tag) return static_cast<std::uint32_t>(value);
    }
  }

 private:
  MM_HD std::uint32_t begin(std::uint32_t tag) const { return tag * 0x9E3779B1u >> (32 - bits); }
  MM_HD std::uint32_t after(std::uint32_t at) const {
    return (at + 1) & ((std::uint32_t(1) << bits) - 1u);
  }
};

}  // namespace manymove::dpd
