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
                                             Partners to) {
  const int t = index_of_thread();
  if (t < entries) find_partner(links, t / to.most, t % to.most, known, to);
}

class SortedLinks {
 public:
  void take(std::size_t n, const Topology& t, cudaStream_t stream) {
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
    word_ = on_device(words, stream);
    rows_.word = word_.data();
    if (!any_bonds()) return;
    where_ = DeviceBuffer<unsigned>(n);
    partner_ = DeviceBuffer<Partner>(entries_of_bonds(rows_, n));
    bonds_ = {partner_.data(), static_cast<int>(rows_.bonds), static_cast<int>(n)};
  }

  bool any_bonds() const { return rows_.bonds > 0; }
  bool any_specials() const { return rows_.specials > 0; }
  LinkedParticles of(const unsigned* slot) const { return {rows_, slot}; }
  // Of Step.
  const Partners& bonds() const { return bonds_; }
  // For CellSorter; null without bonds.
  unsigned* where() const { return where_.data(); }

  // After a sort.
  void follow(int count, const unsigned* slot, cudaStream_t stream) {
    if (!any_bonds()) return;
    const int entries = count * bonds_.most;
    launch_each(entries, stream, &place_partners_kernel, entries, of(slot),
                HostIndex{where_.data()}, bonds_);
  }

 private:
  LinkRows rows_;
  DeviceBuffer<LinkWord> word_;
  DeviceBuffer<unsigned> where_;  // by index of the host
  DeviceBuffer<Partner> partner_;
  Partners bonds_;
};

}  // namespace manymove::dpd
