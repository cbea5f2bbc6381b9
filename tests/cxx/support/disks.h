// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "core/hard_particles/state_engine.h"

namespace manymove::test {

// An engine without disks, shared among ranks. Tests override the functions that they need.
class NoDisks : public hard_particles::StateEngine {
 public:
  explicit NoDisks(Communicator& ranks) : StateEngine(state_of(ranks)) {}
  bool same_positions(const hard_particles::HostParticles&) const override { return true; }
  void write_positions(const hard_particles::HostParticles&) override {}

 protected:
  void advance(std::uint64_t) override {}
  hard_particles::Counters own_counters() const override { return {}; }
  hard_particles::Cells present_cells() const override {
    return {{}, std::vector<std::uint32_t>(200)};
  }
  void begin_rows(std::size_t) override {}
  void add_sample() override {}
  void end_row(bool) override {}
  std::vector<std::uint64_t> ended_rows() override { return {}; }
  std::vector<std::uint64_t> histogram(const hard_particles::Sampling&) const override {
    return {};
  }

 private:
  static hard_particles::State state_of(Communicator& ranks) {
    hard_particles::State state;
    state.parameters.dimensions = 2;
    for (int& n : state.geometry.cells) n = 1;
    state.ranks = &ranks;
    state.strip.emplace(hard_particles::GridRows{100, 10, 10}, 0, 1);
    return state;
  }
};

}  // namespace manymove::test
