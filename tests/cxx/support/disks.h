// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/harddisk/engine.h"

namespace manymove::test {

// An engine without disks. Tests override the functions that they need.
class NoDisks : public harddisk::Engine {
 public:
  void enqueue(std::uint64_t) override {}
  void enqueue(std::uint64_t, const harddisk::HostParticles&) override {}
  bool same_positions(const harddisk::HostParticles&) const override { return true; }
  bool enqueue_if_same(std::uint64_t, const harddisk::HostParticles&) override { return true; }
  void write_positions(const harddisk::HostParticles&) override {}
  void set_sampling(const harddisk::Sampling&) override {}
  std::vector<std::uint64_t> take_rows(std::vector<std::uint64_t>&) override { return {}; }
  std::vector<std::uint64_t> contact_histogram(double, int) const override { return {}; }
  harddisk::Counters counters() const override { return {}; }
  harddisk::Grid grid() const override { return {}; }
  harddisk::Repair repair() const override { return {}; }
  std::size_t particles() const override { return 0; }
  double occupied() const override { return 0; }
  void positions(double*) const override {}
  std::array<double, 2> bond_order(double) const override { return {}; }
  double max_overlap() const override { return 0; }
  std::uint64_t state_hash() const override { return 0; }
  harddisk::Snapshot snapshot() const override { return {}; }
};

}  // namespace manymove::test
