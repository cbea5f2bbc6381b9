// SPDX-License-Identifier: BSD-3-Clause
// Bonds and special neighbors as words that travel with a particle, the rows of these words, a
// table that leads from a tag to the particle, and the partners in bonds that a build of lists
// finds with it. Plain functions of host and device, which tests/cxx/test_links.cpp runs on the
// CPU.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "../parallel/communicator.h"
#include "../runtime/macros.h"
#include "../runtime/text.h"
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
// Links keep the order in which the host program has them; words without a link are 0.
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

// The rows of particles in the order of the steps: particle i has that of slot[i].
struct LinkedParticles {
  LinkRows rows;
  const std::uint32_t* slot = nullptr;

  MM_HD LinkSpan bonds_of(int i) const { return rows.bonds_of(slot[i]); }
  MM_HD LinkSpan specials_of(int i) const { return rows.specials_of(slot[i]); }
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

// Rows, still without words, for the particles of all ranks; communicator: null for one rank.
// Collective.
inline LinkRows rows_for(int count, const Topology& t, Communicator* communicator) {
  std::int64_t most[2] = {most_links(count, t.first_bond), most_links(count, t.first_special)};
  if (communicator) communicator->maximum(most, 2);
  return {nullptr, static_cast<std::uint32_t>(most[0]), static_cast<std::uint32_t>(most[1])};
}
// The number of entries of Partners for so many particles.
inline std::size_t entries_of_bonds(const LinkRows& rows, std::size_t particles) {
  const std::size_t entries = particles * rows.bonds;
  if (entries > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    throw std::runtime_error(text_of(particles, " particles with up to ", rows.bonds,
                                     " bonds each are too many for one rank: the product must be "
                                     "below 2^31"));
  return entries;
}

// Calls bond(word) for each bond of particle i, then special(word) for each special neighbor.
void for_each_link(const Topology& t, int i, const auto& bond, const auto& special) {
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
  MM_HD void add(std::uint32_t tag, std::uint32_t index, const auto& claim) const {
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

// The same of particles in the memory of the host; throws std::bad_alloc.
class HostTagIndex {
 public:
  HostTagIndex(std::size_t count, const std::uint32_t* tag)
      : index_{nullptr, TagIndex::bits_for(static_cast<std::int64_t>(count))},
        entries_(std::size_t{1} << index_.bits) {
    index_.entry = entries_.data();
    for (std::size_t i = 0; i < count; ++i)
      index_.add(tag[i], static_cast<std::uint32_t>(i), [](std::uint64_t* at, std::uint64_t value) {
        const bool free = *at == 0;
        if (free) *at = value;
        return free;
      });
  }
  HostTagIndex(const HostTagIndex&) = delete;
  std::uint32_t find(std::uint32_t tag) const { return index_.find(tag); }

 private:
  TagIndex index_;
  std::vector<std::uint64_t> entries_;
};

// ---- partners ----

struct alignas(8) Partner {
  std::uint32_t index;
  int kind;  // of Topology::bond_type, whose types count from 1; 0: none
};
// Bonded terms as the steps read them: the entries of each particle, of which it has room for
// `most`. On a GPU entries k of all particles follow each other, so that threads read them side by
// side.
struct Partners {
  Partner* entry = nullptr;  // null: no particle has any
  int most = 0;
  int apart = 1;  // from an entry of a particle to its next one: 1 or the number of particles

  MM_HD int place(int i, int k) const { return apart > 1 ? i + k * apart : i * most + k; }
  MM_HD Partner of(int i, int k) const { return k < most ? entry[place(i, k)] : Partner{0, 0}; }
};

// Writes entry k of particle i. known.find() leads from the partner in a row to its index. A
// partner that is not known is replaced by the particle itself; the result has bit 0 if one of a
// bond is missing, and bit 1 if one of another term is.
MM_HD unsigned find_partner(const LinkedParticles& links, int i, int k, const auto& known,
                            const Partners& to) {
  const LinkWord word = links.rows.row(links.slot[i])[1 + k];
  const int kind = static_cast<int>(kind_of(word));
  const std::uint32_t own = static_cast<std::uint32_t>(i),
                      j = kind ? known.find(partner_of(word)) : own;
  const bool found = j != TagIndex::kMissing;
  to.entry[to.place(i, k)] = {found ? j : own, kind};
  return found ? 0u : has_several_partners(kind) ? 2u : 1u;
}
// The same for all entries of particle i.
MM_HD unsigned find_partners(const LinkedParticles& links, int i, const auto& known,
                             const Partners& to) {
  unsigned missing = 0;
  for (int k = 0; k < to.most; ++k) missing |= find_partner(links, i, k, known, to);
  return missing;
}

}  // namespace manymove::dpd
