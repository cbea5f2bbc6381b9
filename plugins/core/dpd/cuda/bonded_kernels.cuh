// SPDX-License-Identifier: BSD-3-Clause
// The kernel that sums bonds and angles before a step, for input scripts that have more than
// harmonic bonds.
#pragma once

#include "../../runtime/device.cuh"
#include "../bonded_terms.h"
#include "step_constants.cuh"

namespace manymove::dpd {

// The largest tags of the particles with such FENE bonds.
struct StretchReport {
  unsigned stretched, broken;
};

// One thread per particle from `first` on. added: sums of the particles, as Step::added; partial:
// [blocks][kStepSums], of bonds and of angles, if `reading`.
template <Precision P, bool reading>
__global__ void bonded_kernel(const __grid_constant__ Step<P> s, const BondedTerms terms, int first,
                              Vector<typename P::Real>* added, double* partial,
                              StretchReport* stretch) {
  const int i = first + static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const bool here = i < s.count && !stale(s.status, s.number);
  BondedSum sum;
  if (here) {
    const EntryRange range = s.bonds.range[i];
    sum = bonded_sum<P>(
        terms, s.position[i], range.first, range.last, reading,
        [&](int k) { return s.bonds.type[k]; },
        [&](int k) { return s.position[s.bonds.index[k]]; });
    added[i] = vector_of<typename P::Real>(sum.force);
    if (sum.stretch >= kStretched) atomicMax(&stretch->stretched, s.velocity[i].tag);
    if (sum.stretch == kBroken) atomicMax(&stretch->broken, s.velocity[i].tag);
  }
  if constexpr (reading) {
    // Each bond is counted at both of its ends. [0]: energy of bonds, [1..6]: their virial,
    // [7..13]: the same of angles.
    double value[kStepSums] = {0.5 * sum.bonds.energy};
    value[7] = 0.5 * sum.angles.energy;
    for (int a = 0; a < 6; ++a) {
      value[1 + a] = 0.5 * sum.bonds.virial[a];
      value[8 + a] = 0.5 * sum.angles.virial[a];
    }
    add_over_block(value, static_cast<int>(blockDim.x / 32),
                   partial + static_cast<std::size_t>(blockIdx.x) * kStepSums);
  }
}

// Sums of bonds and angles of the particles of one engine. They need the bonds of Step::bonds, and
// take their place there.
template <Precision P>
class BondedSums {
 public:
  explicit BondedSums(const Settings& settings)
      : wanted_(has_bonded_terms(settings)), stretch_(1) {}

  bool wanted() const { return wanted_; }

  // Room for so many particles, in blocks of at least `block` of them.
  void reserve(std::size_t particles, std::size_t block) {
    if (!wanted_ || particles <= added_.size()) return;
    added_ = DeviceBuffer<Vector<typename P::Real>>(particles);
    partial_ = DeviceBuffer<double>((particles / block + 3) * kStepSums);
  }

  // At the beginning of an advance().
  void forget(cudaStream_t stream) {
    if (wanted_) stretch_.clear(stream);
  }

  // Launches the sums of particles from `first`, a multiple of `block`, to before step.count, and
  // lets the step take them.
  void launch(Step<P>& step, const BondedTerms& terms, int first, int block, bool reading,
              cudaStream_t stream) const {
    if (!wanted_ || !step.bonds.range || first >= step.count) return;
    const auto kernel = reading ? &bonded_kernel<P, true> : &bonded_kernel<P, false>;
    kernel<<<blocks_for(step.count - first, block), block, 0, stream>>>(
        step, terms, first, added_.data(),
        partial_.data() + static_cast<std::size_t>(first / block) * kStepSums, stretch_.data());
    check_launch();
    step.bonds = {};
    step.added = added_.data();
  }

  // Adds the sums of the last step of an advance().
  void add_to(EnergyAndVirial& all, int blocks, const DeviceBuffer<double>& total,
              const EngineStream& stream) const {
    const auto [bonds, angles] = sums_over_blocks(blocks, partial_.data(), total, stream);
    all.bonds = bonds;
    all.angles = angles;
  }
  // Of the steps of an advance(), in the memory of the device.
  const StretchReport* stretch() const { return stretch_.data(); }

 private:
  const bool wanted_;
  DeviceBuffer<StretchReport> stretch_;
  DeviceBuffer<Vector<typename P::Real>> added_;
  DeviceBuffer<double> partial_;
};

}  // namespace manymove::dpd
