// SPDX-License-Identifier: BSD-3-Clause
// Bonds and special neighbors of the particles of one engine, on one GPU: as the host has them, and
// bonds as the steps read them, in the order of the particles.
#pragma once

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "step_constants.cuh"

namespace manymove::dpd {

class SortedLinks {
 public:
  // sums: whether BondedSums takes the bonds.
  void take(std::size_t n, const Topology& t, bool sums, cudaStream_t stream) {
    *this = {};
    if (t.first_special && t.first_special[n] > 0) {
      const auto ends = static_cast<std::size_t>(t.first_special[n]);
      std::vector<LinkWord> links(ends);
      for (std::size_t k = 0; k < ends; ++k)
        links[k] = link_word(t.special_partner[k], t.special_kind[k]);
      special_first_ = on_device(t.first_special, n + 1, stream);
      special_link_ = on_device(links, stream);
    }
    if (!t.first_bond || t.first_bond[n] == 0) return;
    const auto ends = static_cast<std::size_t>(t.first_bond[n]);
    std::unordered_map<unsigned, unsigned> index;
    index.reserve(n);
    for (std::size_t i = 0; i < n; ++i) index[t.tag[i]] = static_cast<unsigned>(i);
    std::vector<unsigned> partner(ends);
    for (std::size_t k = 0; k < ends; ++k) partner[k] = index.at(t.bond_partner[k]);
    bond_first_ = on_device(t.first_bond, n + 1, stream);
    bond_partner_ = on_device(partner, stream);
    bond_type_ = on_device(t.bond_type, ends, stream);
    where_ = DeviceBuffer<unsigned>(n);
    int most = 0;
    for (std::size_t i = 0; i < n; ++i)
      most = std::max(most, t.first_bond[i + 1] - t.first_bond[i]);
    if (most <= 2 && !sums) {
      pair_ = DeviceBuffer<uint4>(n);
      bonds_ = {nullptr, nullptr, nullptr, pair_.data()};
    } else {
      index_ = DeviceBuffer<unsigned>(ends);
      range_ = DeviceBuffer<int2>(n);
      bonds_ = {range_.data(), index_.data(), bond_type_.data()};
    }
  }

  bool any_bonds() const { return where_.size() > 0; }
  bool any_specials() const { return special_link_.size() > 0; }
  // Of Step.
  const Bonds& bonds() const { return bonds_; }
  Specials specials(unsigned excluded) const {
    return {special_first_.data(), special_link_.data(), {}, excluded};
  }
  // For CellSorter; null without bonds.
  unsigned* where() const { return where_.data(); }

  // After a sort.
  void follow(int count, const unsigned* origin, cudaStream_t stream) {
    if (!any_bonds()) return;
    if (bonds_.pair)
      return launch_each(count, stream, &bond_pair_kernel, count, origin, bond_first_.data(),
                         bond_partner_.data(), bond_type_.data(), where_.data(), pair_.data());
    const int ends = static_cast<int>(bond_partner_.size());
    launch_each(count, stream, &bond_range_kernel, count, origin, bond_first_.data(),
                range_.data());
    launch_each(ends, stream, &bond_index_kernel, ends, bond_partner_.data(), where_.data(),
                index_.data());
  }

 private:
  // By index of the host.
  DeviceBuffer<int> bond_first_, bond_type_, special_first_;
  DeviceBuffer<unsigned> bond_partner_, where_;
  DeviceBuffer<LinkWord> special_link_;
  // In the order of the particles; see Bonds.
  DeviceBuffer<unsigned> index_;
  DeviceBuffer<int2> range_;
  DeviceBuffer<uint4> pair_;
  Bonds bonds_{};
};

}  // namespace manymove::dpd
