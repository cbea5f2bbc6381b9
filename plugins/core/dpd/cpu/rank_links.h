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

// Rows of links of a rank's particles, which take them along wherever they go, and the places of
// their partners in bonds.
class RankLinks {
 public:
  // communicator: null for one rank; otherwise all ranks make the same calls.
  void take(int count, const Topology& t, Communicator* communicator) {
    clear();
    std::vector<LinkWord> row;
    for (int i = 0; i < count; ++i) {
      row.assign(1, 0);
      std::uint32_t bonds = 0, specials = 0;
      for_each_link(
          t, i, [&](LinkWord link) { row.push_back(link), ++bonds; },
          [&](LinkWord link) { row.push_back(link), ++specials; });
      row[0] = link_word(bonds, specials);
      append(row.data());
    }
    std::int64_t any[2] = {most_links(count, t.first_bond), most_links(count, t.first_special)};
    if (communicator) communicator->maximum(any, 2);
    any_bonds_ = any[0] > 0;
    any_specials_ = any[1] > 0;
  }

  // Whether any rank has links.
  bool any_bonds() const { return any_bonds_; }
  bool any_specials() const { return any_specials_; }
  bool any() const { return any_bonds_ || any_specials_; }
  RowsOfLinks rows() const { return {word_.data(), begin_.data()}; }

  // Particle order[k] becomes the k-th.
  void reorder(ThreadPool& pool, const std::vector<std::uint32_t>& order) {
    if (!any()) return;
    sorted_.resize(order.size());
    for_each_index(pool, static_cast<int>(order.size()),
                   [&](int k) { sorted_[k] = begin_[order[k]]; });
    begin_.swap(sorted_);
  }

  // Before migrate(), for each particle in turn: it becomes the k-th of those that stay, or its row
  // goes behind the rows of the particles that leave for another rank.
  void stay(std::size_t i, std::size_t k) {
    if (any()) begin_[k] = begin_[i];
  }
  void leave(std::size_t i, std::vector<LinkWord>& leaving) const {
    if (!any()) return;
    const LinkWord* row = word_.data() + begin_[i];
    leaving.insert(leaving.end(), row, row + words_of(row));
  }
  // leaving: rows by the rank to which they go. Particles that come are behind the `stayed` ones.
  void migrate(Communicator& communicator, std::size_t stayed,
               std::vector<std::vector<LinkWord>> leaving) {
    if (!any()) return;
    const std::vector<LinkWord> come = deliver(communicator, std::move(leaving));
    const std::vector<LinkWord> before = std::move(word_);
    const std::vector<std::size_t> begin = std::move(begin_);
    clear();
    for (std::size_t k = 0; k < stayed; ++k) append(before.data() + begin[k]);
    for (std::size_t at = 0; at < come.size(); at += words_of(&come[at])) append(&come[at]);
  }

  // Finds the partners in bonds of the first `count` particles, the rank's own, among them and the
  // ghosts behind them. Returns those that are missing.
  template <class Velocity>
  MissingPartners find_partners(ThreadPool& pool, int count,
                                const std::vector<Velocity>& velocity) {
    MissingPartners missing;
    partner_.clear();
    if (!any_bonds_) return missing;
    first_.assign(static_cast<std::size_t>(count) + 1, 0);
    for (int i = 0; i < count; ++i)
      first_[i + 1] = first_[i] + static_cast<int>(rows().bonds_of(i).count);
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
      const LinkWord* bond = rows().bonds_of(i).first;
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
  static std::size_t words_of(const LinkWord* row) {
    return std::size_t{1} + partner_of(row[0]) + kind_of(row[0]);
  }
  void clear() {
    word_.assign(1, 0);  // the row of particles without links
    begin_.clear();
  }
  void append(const LinkWord* row) {
    begin_.push_back(row[0] == 0 ? 0 : word_.size());
    if (row[0] != 0) word_.insert(word_.end(), row, row + words_of(row));
  }

  bool any_bonds_ = false, any_specials_ = false;
  std::vector<LinkWord> word_{0};
  std::vector<std::size_t> begin_, sorted_;  // of each particle's row
  std::vector<int> first_, type_;
  std::vector<std::uint32_t> partner_;
  std::vector<std::uint64_t> entry_;  // of the table of tags
};

}  // namespace manymove::dpd
