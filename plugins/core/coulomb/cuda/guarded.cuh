// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "../../runtime/device.cuh"
#include "../engine.h"

namespace manymove::coulomb {

// Leaves the caller's current device as it was.
class GuardedEngine final : public Engine {
 public:
  template <class Make>
  GuardedEngine(int device, const Make& make) : engine_(device, make) {}

  void run(std::uint64_t sweeps) override { engine_->run(sweeps); }
  std::vector<double> take_energies() override { return engine_->take_energies(); }
  Counters counters() const override { return engine_->counters(); }
  std::size_t particles() const override { return engine_->particles(); }
  double energy_change() const override { return engine_->energy_change(); }
  double energy() const override { return engine_->energy(); }
  void positions(double* xyz) const override { engine_->positions(xyz); }
  Snapshot snapshot() const override { return engine_->snapshot(); }
  void set_positions(const double* xyz) override { engine_->set_positions(xyz); }
  void adopt(const HostParticles& host) override { engine_->adopt(host); }
  bool same_particles(const HostParticles& host) const override {
    return engine_->same_particles(host);
  }
  void write_positions(const HostParticles& host) override { engine_->write_positions(host); }
  void count_pairs(const Histogram& histogram, std::uint64_t* counts,
                   std::uint64_t* interior) const override {
    engine_->count_pairs(histogram, counts, interior);
  }
  double max_displacement() const override { return engine_->max_displacement(); }
  double short_displacement() const override { return engine_->short_displacement(); }
  double unit() const override { return engine_->unit(); }
  int threads_per_particle() const override { return engine_->threads_per_particle(); }
  double max_overlap() const override { return engine_->max_overlap(); }
  std::uint64_t state_hash() const override { return engine_->state_hash(); }

 private:
  OnDevice<Engine> engine_;
};

}  // namespace manymove::coulomb
