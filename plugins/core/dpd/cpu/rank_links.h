// SPDX-License-Identifier: BSD-3-Clause
// Bonds and special neighbors of a rank's particles, for the resident engine on the CPU.
#pragma once

#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>
#include <vector>

#include "../../runtime/parallel_for.h"
#include "../engine_base.h"
#include "step_arguments.h"

namespace manymove::dpd {

// Takes an empty entry of a TagIndex, for which many threads compete.
struct ClaimOnHost {
  bool operator()(std::uint64_t* entry, std::uint64_t value) const {
    std::uint64_t empty = 0;
    return std::atomic_ref(*entry).compare_exchange_strong(empty, value);
  }
};

// Rows of links of a rank's particles, which take them along wherever they go, and the places of
// their partners in bonds.
class RankLinks {
 public:
  // communicator: null for one rank; otherwise all ranks make the same calls.
  void take(int count, const Topology& t, Communicator* communicator) {
    rows_ = rows_for(count, t, communicator);
    own(rows_of(count, t, rows_));
  }

  // Whether any rank has links.
  bool any_bonds() const { return rows_.bonds > 0; }
  bool any_specials() const { return rows_.specials > 0; }
  bool any() const { return rows_.words() > 0; }
  LinkedParticles rows() const { return {rows_, slot_.data()}; }

  // Particle order[k] becomes the k-th.
  void reorder(ThreadPool& pool, const std::vector<std::uint32_t>& order) {
    if (!any()) return;
    sorted_.resize(order.size());
    for_each_index(pool, static_cast<int>(order.size()),
                   [&](int k) { sorted_[k] = slot_[order[k]]; });
    slot_.swap(sorted_);
  }

  // Before migrate(), for each particle in turn: it becomes the k-th of those that stay, or its row
  // goes behind the rows of the particles that leave for another rank.
  void stay(std::size_t i, std::size_t k) {
    if (any()) slot_[k] = slot_[i];
  }
  void leave(std::size_t i, std::vector<LinkWord>& leaving) const {
    if (any()) append(i, leaving);
  }
  // leaving: rows by the rank to which they go. Particles that come are behind the `stayed` ones.
  void migrate(Communicator& communicator, std::size_t stayed,
               std::vector<std::vector<LinkWord>> leaving) {
    if (!any()) return;
    const std::vector<LinkWord> come = deliver(communicator, std::move(leaving));
    std::vector<LinkWord> all;
    for (std::size_t k = 0; k < stayed; ++k) append(k, all);
    all.insert(all.end(), come.begin(), come.end());
    own(std::move(all));
  }

  // Finds the partners in bonds of the first `count` particles, the rank's own, among them and the
  // ghosts behind them. Returns those that are missing.
  template <class Velocity>
  MissingPartners find_partners(ThreadPool& pool, int count,
                                const std::vector<Velocity>& velocity) {
    MissingPartners missing;
    if (!any_bonds()) return missing;
    partner_.resize(entries_of_bonds(rows_, static_cast<std::size_t>(count)));
    const int all = static_cast<int>(velocity.size()), bits = TagIndex::bits_for(all);
    entry_.assign(std::size_t{1} << bits, 0);
    const TagIndex known{entry_.data(), bits};
    // Bonds are in the rows of both ends: particles without bonds are no partners.
    for_each_index(pool, all, [&](int i) {
      if (i >= count || rows().bonds_of(i).count > 0)
        known.add(velocity[i].tag, static_cast<std::uint32_t>(i), ClaimOnHost{});
    });
    std::mutex lock;
    for_each_index(pool, count, [&](int i) {
      const unsigned lacks = dpd::find_partners(rows(), i, known, bonds());
      if (lacks == 0) return;
      const std::lock_guard<std::mutex> guard(lock);
      for (int k = 0; k < 2; ++k)
        if (lacks >> k & 1u)
          missing.tag[k] = std::max<std::int64_t>(missing.tag[k], velocity[i].tag);
    });
    return missing;
  }
  // After find_partners(); a null pointer if no rank has bonds.
  Partners bonds() {
    return any_bonds() ? Partners{partner_.data(), static_cast<int>(rows_.bonds)} : Partners{};
  }

 private:
  void own(std::vector<LinkWord> words) {
    word_ = std::move(words);
    rows_.word = word_.data();
    slot_.resize(any() ? word_.size() / rows_.words() : 0);
    std::iota(slot_.begin(), slot_.end(), 0u);
  }
  void append(std::size_t i, std::vector<LinkWord>& to) const {
    const LinkWord* row = rows_.row(slot_[i]);
    to.insert(to.end(), row, row + rows_.words());
  }

  LinkRows rows_;
  std::vector<LinkWord> word_;
  std::vector<std::uint32_t> slot_, sorted_;  // of each particle
  std::vector<Partner> partner_;
  std::vector<std::uint64_t> entry_;  // of the table of tags
};

}  // namespace manymove::dpd
