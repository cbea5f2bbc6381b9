// SPDX-License-Identifier: BSD-3-Clause
// What the steps of an engine take from its settings, in the memory of the device.
#pragma once

#include <string>
#include <vector>

#include "../settings.h"
#include "step_kernels.cuh"

namespace manymove::dpd {

// At least `count` threads in whole blocks.
constexpr int blocks_for(int count, int threads = kThreads) {
  return manymove::blocks_for(count, threads);
}

// Entries of lists in whole groups.
constexpr int whole_groups(int entries) { return (entries + kGroup - 1) / kGroup * kGroup; }

inline std::string name_of_device() {
  int device;
  check(cudaGetDevice(&device), "device");
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, device), "device");
  return properties.name;
}

template <class P>
class StepConstants {
  using Real = typename P::Real;

 public:
  StepConstants(const Settings& settings, cudaStream_t stream)
      : half_kicks_(on_device(half_kicks_of<P>(settings), stream)),
        thermostats_(on_device(thermostat_coefficients_of<P>(settings), stream)) {
    step_.motion = motion_of<P>(settings, half_kicks_.data(), thermostats_.data());
    step_.shorts = shorts_of(settings);
    step_.density_shorts = shorts_of_densities(settings);
    take({settings}, stream);
    choose(step_, 0);
  }

  // A step that knows the settings, and has no particles yet. It points into this object.
  const Step<P>& step() const { return step_; }

  // Tables of coefficients: those of these settings, which are the same in all else.
  void take(const std::vector<Settings>& tables, cudaStream_t stream) {
    std::vector<PairLaw<Real>> laws;
    std::vector<TransverseLaw<Real>> laws_across;
    std::vector<BondLaw<Real>> bond_laws;
    forces_.clear();
    units_.clear();
    for (const Settings& settings : tables) {
      units_.push_back(kIntegers<P> ? force_unit(settings) : 1);
      const auto more = in_units(laws_of<P>(settings.pairs), units_.back());
      laws.insert(laws.end(), more.begin(), more.end());
      const auto across = in_units(laws_across_of<P>(settings.pairs), units_.back());
      laws_across.insert(laws_across.end(), across.begin(), across.end());
      const auto bonds = bond_laws_of<P>(settings);
      bond_laws.insert(bond_laws.end(), bonds.begin(), bonds.end());
      forces_.push_back(forces_of<P>(settings, nullptr, nullptr));
      forces_.back().law = more.back();
      if (!across.empty()) {
        forces_.back().across = across.back();
        forces_.back().law_beyond = beyond_transverse(more.back(), across.back());
      }
      forces_.back().many_body.b = static_cast<Real>(forces_.back().many_body.b / units_.back());
    }
    laws_ = on_device(laws, stream);
    laws_across_ = on_device(laws_across, stream);
    bond_laws_ = on_device(bond_laws, stream);
    for (std::size_t k = 0; k < tables.size(); ++k) {
      forces_[k].laws = laws_.data() + k * (laws.size() / tables.size());
      forces_[k].laws_across = laws_across_.data() + k * (laws_across.size() / tables.size());
    }
    bonds_of_table_ = bond_laws.size() / tables.size();
  }
  // Lets a step have the coefficients of a table.
  void choose(Step<P>& step, std::size_t table) const {
    const NoiseKey noise = step.forces.noise;
    step.forces = forces_[table];
    step.forces.noise = noise;
    step.unit = static_cast<Real>(units_[table]);
    step.bond_laws = bond_laws_.data() + table * bonds_of_table_;
  }

 private:
  static std::vector<PairLaw<Real>> in_units(std::vector<PairLaw<Real>> laws, double unit) {
    for (auto& law : laws) {
      law.a = static_cast<Real>(law.a / unit);
      law.gamma = static_cast<Real>(law.gamma / unit);
      law.sigma = static_cast<Real>(law.sigma / unit);
    }
    return laws;
  }

  static std::vector<TransverseLaw<Real>> in_units(std::vector<TransverseLaw<Real>> laws,
                                                   double unit) {
    for (auto& law : laws) {
      law.gamma = static_cast<Real>(law.gamma / unit);
      law.sigma = static_cast<Real>(law.sigma / unit);
    }
    return laws;
  }

  const DeviceBuffer<Real> half_kicks_, thermostats_;
  DeviceBuffer<PairLaw<Real>> laws_;  // of all tables
  DeviceBuffer<TransverseLaw<Real>> laws_across_;
  DeviceBuffer<BondLaw<Real>> bond_laws_;  // the same
  std::vector<Forces<P>> forces_;          // by table, like the units of forces
  std::vector<double> units_;
  std::size_t bonds_of_table_ = 0;
  Step<P> step_{};
};

// Sums over the blocks of the last step, whose kernels have written `partial`. wait() waits for
// what is in the stream.
template <class Wait>
EnergyAndVirial energy_and_virial_of(int blocks, const double* partial,
                                     const DeviceBuffer<double>& total, cudaStream_t stream,
                                     const Wait& wait) {
  total_kernel<<<1, 64 * kTallies, 0, stream>>>(blocks, partial, total.data());
  check_launch();
  double sum[kTallies];
  copy_out(sum, total.data(), sizeof sum, stream);
  wait();
  EnergyAndVirial tally;
  tally.pair_energy = sum[0];
  tally.bond_energy = sum[7];
  std::copy_n(sum + 1, 6, tally.pair_virial);
  std::copy_n(sum + 8, 6, tally.bond_virial);
  return tally;
}

}  // namespace manymove::dpd
