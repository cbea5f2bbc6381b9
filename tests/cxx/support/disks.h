// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/hard_particles/engine.h"

namespace manymove::test {

// An engine without disks. Tests override the functions that they need.
class NoDisks : public hard_particles::Engine {
 public:
  void enqueue(std::uint64_t) override {}
  void enqueue(std::uint64_t, const hard_particles::HostParticles&) override {}
  bool same_positions(const hard_particles::HostParticles&) const override { return true; }
  bool enqueue_if_same(std::uint64_t, const hard_particles::HostParticles&) override {
    return true;
  }
  void write_positions(const hard_particles::HostParticles&) override {}
  void set_sampling(const hard_particles::Sampling&) override {}
  std::vector<std::uint64_t> take_rows(std::vector<std::uint64_t>&) override { return {}; }
  std::vector<std::uint64_t> contact_histogram(double, int) const override { return {}; }
  hard_particles::Counters counters() const override { return {}; }
  hard_particles::Grid grid() const override { return {}; }
  hard_particles::Repair repair() const override { return {}; }
  std::size_t particles() const override { return 0; }
  double occupied() const override { return 0; }
  void positions(double*) const override {}
  std::array<double, 2> bond_order(double) const override { return {}; }
  double max_overlap() const override { return 0; }
  std::uint64_t state_hash() const override { return 0; }
  hard_particles::Snapshot snapshot() const override { return {}; }
};

}  // namespace manymove::test
