// SPDX-License-Identifier: BSD-3-Clause
// Bonds and special neighbors of the particles of one engine, on one GPU: rows in the order of the
// host, and bonds as the steps read them, in the order of the particles.
#pragma once

#include <vector>

#include "step_constants.cuh"

namespace manymove::dpd {

// Rows have the partner's index of the host in place of its tag, from which its place follows.
struct HostIndex {
  const unsigned* where;
  __device__ unsigned find(unsigned index) const { return where[index]; }
};
// One thread per entry of a particle, so that the words of rows are read side by side.
static __global__ void place_partners_kernel(int entries, LinkedParticles links, HostIndex known,
                                             Bonds to) {
  const int t = index_of_thread(), bonds = static_cast<int>(links.rows.bonds);
  if (t < entries) find_partner(links, t / bonds, t % bonds, known, to);
}
// One thread per particle: both entries, in Bonds::pair.
static __global__ void place_pairs_kernel(int count, LinkedParticles links, HostIndex known,
                                          uint4* pair) {
  const int i = index_of_thread();
  if (i >= count) return;
  const LinkSpan bonds = links.bonds_of(i);
  uint4 both = {0, 0, 0, 0};
  const LinkWord* bond = bonds.first;
  if (bonds.count > 0) both.x = known.find(partner_of(bond[0])), both.y = kind_of(bond[0]);
  if (bonds.count > 1) both.z = known.find(partner_of(bond[1])), both.w = kind_of(bond[1]);
  pair[i] = both;
}

class SortedLinks {
 public:
  // sums: whether BondedSums takes the bonds.
  void take(std::size_t n, const Topology& t, bool sums, cudaStream_t stream) {
    *this = {};
    rows_ = rows_for(static_cast<int>(n), t, nullptr);
    std::vector<LinkWord> words = rows_of(static_cast<int>(n), t, rows_);
    rows_.word = words.data();
    if (any_bonds()) {
      const HostTagIndex index(n, t.tag);
      for (unsigned i = 0; i < n; ++i) {
        LinkWord* const bond = rows_.row(i) + 1;
        for (unsigned k = 0; k < rows_.bonds_of(i).count; ++k)
          // Partners by their slots, which particles keep when they are sorted, instead of their
          // tags.
          bond[k] = link_word(index.find(partner_of(bond[k])), kind_of(bond[k]));
      }
    }
    memory_.load(words, rows_.word, stream);
    if (!any_bonds()) return;
    memory_.make(n, where_);
    if (rows_.bonds <= 2 && !sums) {
      memory_.make(n, pair_);
      bonds_.pair = pair_;
      return;
    }
    memory_.make(n, bonds_.range);
    memory_.make(entries_of_bonds(rows_, n), bonds_.index, bonds_.type);
  }

  bool any_bonds() const { return rows_.bonds > 0; }
  bool any_specials() const { return rows_.specials > 0; }
  LinkedParticles of(const unsigned* slot) const { return {rows_, slot}; }
  // Of Step.
  const Bonds& bonds() const { return bonds_; }
  // For CellSorter; null without bonds.
  unsigned* where() const { return where_; }

  // After a sort.
  void follow(int count, const unsigned* slot, cudaStream_t stream) {
    if (!any_bonds()) return;
    const HostIndex known{where_};
    if (bonds_.pair)
      launch_each(count, stream, &place_pairs_kernel, count, of(slot), known, pair_);
    else
      launch_each(count * static_cast<int>(rows_.bonds), stream, &place_partners_kernel,
                  count * static_cast<int>(rows_.bonds), of(slot), known, bonds_);
  }

 private:
  LinkRows rows_;
  DeviceArrays memory_;
  unsigned* where_ = nullptr;  // by index of the host
  uint4* pair_ = nullptr;      // see Bonds
  Bonds bonds_{};
};

}  // namespace manymove::dpd
