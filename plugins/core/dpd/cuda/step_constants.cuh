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
      : unit_(kIntegers<P> ? force_unit(settings) : 1),
        laws_(on_device(in_units(laws_of<P>(settings.pairs)), stream)),
        laws_across_(on_device(across_in_units(laws_across_of<P>(settings.pairs)), stream)),
        half_kicks_(on_device(half_kicks_of<P>(settings), stream)),
        baths_(on_device(bath_coefficients_of<P>(settings), stream)),
        bond_laws_(on_device(bond_laws_of<P>(settings), stream)) {
    step_.forces = forces_of<P>(settings, laws_.data(), laws_across_.data());
    step_.forces.law = in_units({step_.forces.law})[0];
    step_.forces.across = across_in_units({step_.forces.across})[0];
    step_.unit = static_cast<Real>(unit_);
    step_.motion = motion_of<P>(settings, half_kicks_.data(), baths_.data());
    step_.shorts = shorts_of(settings);
    step_.forces.many_body.b = static_cast<Real>(step_.forces.many_body.b / unit_);
    step_.density_shorts = shorts_of_densities(settings);
    step_.bond_laws = bond_laws_.data();
  }

  // A step that knows the settings, and has no particles yet. It points into this object.
  const Step<P>& step() const { return step_; }

 private:
  std::vector<PairLaw<Real>> in_units(std::vector<PairLaw<Real>> laws) const {
    for (auto& law : laws) {
      law.a = static_cast<Real>(law.a / unit_);
      law.gamma = static_cast<Real>(law.gamma / unit_);
      law.sigma = static_cast<Real>(law.sigma / unit_);
    }
    return laws;
  }

  std::vector<TransverseLaw<Real>> across_in_units(std::vector<TransverseLaw<Real>> laws) const {
    for (auto& law : laws) {
      law.gamma = static_cast<Real>(law.gamma / unit_);
      law.sigma = static_cast<Real>(law.sigma / unit_);
    }
    return laws;
  }

  const double unit_;  // of forces
  const DeviceBuffer<PairLaw<Real>> laws_;
  const DeviceBuffer<TransverseLaw<Real>> laws_across_;
  const DeviceBuffer<Real> half_kicks_, baths_;
  const DeviceBuffer<BondLaw<Real>> bond_laws_;
  Step<P> step_{};
};

// Sums over the blocks of the last step, whose kernels have written `partial`. wait() waits for
// what is in the stream.
template <class Wait>
Tally tally_of(int blocks, const double* partial, const DeviceBuffer<double>& total,
               cudaStream_t stream, const Wait& wait) {
  total_kernel<<<1, 64 * kTallies, 0, stream>>>(blocks, partial, total.data());
  check_launch();
  double sum[kTallies];
  copy_out(sum, total.data(), sizeof sum, stream);
  wait();
  Tally tally;
  tally.pair_energy = sum[0];
  tally.bond_energy = sum[7];
  std::copy_n(sum + 1, 6, tally.pair_virial);
  std::copy_n(sum + 8, 6, tally.bond_virial);
  return tally;
}

}  // namespace manymove::dpd
