// SPDX-License-Identifier: BSD-3-Clause
// Bonds and special neighbors of a rank's particles, for the resident engine on the CPU.
#pragma once

#include <atomic>
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

// Rows of links in the order of the particles, which take them along wherever they go, and the
// places of their partners in bonds.
class RankLinks {
 public:
  // communicator: null for one rank. All ranks agree on the length of rows.
  void take(int count, const Topology& topology, Communicator* communicator) {
    std::int64_t most[2] = {most_links(count, topology.first_bond),
                            most_links(count, topology.first_special)};
    if (communicator) communicator->maximum(most, 2);
    rows_.bonds = static_cast<std::uint32_t>(most[0]);
    rows_.specials = static_cast<std::uint32_t>(most[1]);
    word_ = rows_of(count, topology, rows_);
    rows_.word = word_.data();
  }

  // Whether any rank has links.
  bool any_bonds() const { return rows_.bonds > 0; }
  bool any_specials() const { return rows_.specials > 0; }
  const LinkRows& rows() const { return rows_; }

  // Particle order[k] becomes the k-th.
  void reorder(ThreadPool& pool, const std::vector<std::uint32_t>& order) {
    if (rows_.words() == 0) return;
    sorted_.resize(word_.size());
    LinkRows to = rows_;
    to.word = sorted_.data();
    for_each_index(pool, static_cast<int>(order.size()), [&](int k) {
      copy_row(rows_.row(order[k]), rows_.words(), to.row(static_cast<std::uint32_t>(k)));
    });
    word_.swap(sorted_);
    rows_.word = word_.data();
  }

  // Before migrate(), for each particle in turn: it becomes the k-th of those that stay, or its row
  // goes behind those that leave for another rank.
  void stay(std::size_t i, std::size_t k) { copy_row(row(i), rows_.words(), row(k)); }
  void leave(std::size_t i, std::vector<LinkWord>& leaving) const {
    leaving.insert(leaving.end(), row(i), row(i) + rows_.words());
  }
  // leaving: by rank. Rows of particles that come follow those of the particles that stay.
  void migrate(Communicator& communicator, std::size_t stayed,
               std::vector<std::vector<LinkWord>> leaving) {
    if (rows_.words() == 0) return;
    const std::vector<LinkWord> come = deliver(communicator, std::move(leaving));
    word_.resize(stayed * rows_.words());
    word_.insert(word_.end(), come.begin(), come.end());
    rows_.word = word_.data();
  }

  // Finds the partners in bonds of the first `count` particles, the rank's own, among them and the
  // ghosts behind them. Returns those that are missing.
  template <class Velocity>
  MissingPartners find_partners(ThreadPool& pool, int count,
                                const std::vector<Velocity>& velocity) {
    first_.assign(static_cast<std::size_t>(count) + 1, 0);
    MissingPartners missing;
    if (!any_bonds()) return missing;
    for (std::size_t i = 0; i + 1 < first_.size(); ++i)
      first_[i + 1] = first_[i] + static_cast<int>(bonds_of(i).count);
    partner_.resize(static_cast<std::size_t>(first_.back()));
    type_.resize(partner_.size());
    const int all = static_cast<int>(velocity.size()), bits = TagIndex::bits_for(all);
    entry_.assign(std::size_t{1} << bits, 0);
    const TagIndex known{entry_.data(), bits};
    // Bonds are in the rows of both ends: particles without bonds are no partners.
    for_each_index(pool, all, [&](int i) {
      if (i >= count || first_[i] < first_[i + 1])
        known.add(velocity[i].tag, static_cast<std::uint32_t>(i), ClaimOnHost{});
    });
    for_each_index(pool, count, [&](int i) {
      const LinkWord* bond = bonds_of(static_cast<std::size_t>(i)).first;
      for (int k = first_[i]; k < first_[i + 1]; ++k, ++bond) {
        partner_[k] = known.find(partner_of(*bond));
        type_[k] = static_cast<int>(kind_of(*bond));
      }
    });
    for (int i = 0; i < count; ++i)
      for (int k = first_[i]; k < first_[i + 1]; ++k)
        if (partner_[k] == TagIndex::kMissing) missing.tag[is_of_angle(type_[k])] = velocity[i].tag;
    return missing;
  }
  // After find_partners(); null pointers if no particle has bonds.
  PartnersOfBonds bonds() const {
    if (partner_.empty()) return {};
    return {first_.data(), partner_.data(), type_.data()};
  }

 private:
  LinkWord* row(std::size_t i) const { return rows_.row(static_cast<std::uint32_t>(i)); }
  LinkSpan bonds_of(std::size_t i) const { return rows_.bonds_of(static_cast<std::uint32_t>(i)); }

  LinkRows rows_;
  std::vector<LinkWord> word_, sorted_;
  std::vector<int> first_, type_;
  std::vector<std::uint32_t> partner_;
  std::vector<std::uint64_t> entry_;  // of the table of tags
};

}  // namespace manymove::dpd
