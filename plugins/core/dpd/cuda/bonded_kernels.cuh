// SPDX-License-Identifier: BSD-3-Clause
// The kernel that sums bonded terms before a step, for input scripts that have more than harmonic
// bonds.
#pragma once

#include "../../runtime/launch.cuh"
#include "../bonded_terms.h"
#include "step_constants.cuh"

namespace manymove::dpd {

// The largest tags of the particles with such FENE bonds.
struct StretchReport {
  unsigned stretched, broken;
};

// [0]: half an energy, because each bond is counted at both of its ends; [1..6]: half its virial;
// [7..13]: the same of other terms.
__device__ inline void add_halves_over_block(const Sum<double>& sum, const Sum<double>& others,
                                             double* total) {
  double value[kStepSums] = {0.5 * sum.energy};
  value[7] = 0.5 * others.energy;
  for (int a = 0; a < 6; ++a) {
    value[1 + a] = 0.5 * sum.virial[a];
    value[8 + a] = 0.5 * others.virial[a];
  }
  add_over_block(value, static_cast<int>(blockDim.x / 32), total);
}

// Where the blocks write their sums: [blocks][kStepSums], of bonds and angles, and of dihedrals and
// impropers (null: there are none).
struct BondedPartials {
  double *two, *four;
};

// One thread per particle from `first` on. added: sums of the particles, as Step::added; partial:
// written if `reading`; four: there may be terms of four particles. With 64 registers for
// each thread, an H200 has 135,000 particles at a time.
template <Precision P, bool reading, bool four>
__global__ void __launch_bounds__(kThreads, reading ? 1 : 4)
    bonded_kernel(const __grid_constant__ Step<P> s, const BondedTerms terms, int first,
                  Vector<typename P::Real>* added, const BondedPartials partial,
                  StretchReport* stretch) {
  const int i = first + static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  // Where registers suffice, places are read ahead. Entries are read while the step before ends.
  constexpr bool ahead = kIntegers<P> && !four;
  PartnersInOrder<P, ahead> partners(s.bonds, min(i, s.count - 1));
  wait_for_former_kernel();
  let_next_kernel_start();
  partners.begin(s.position);  // reads while the status is on its way
  const bool here = i < s.count && !stale(s.status, s.number);
  BondedSum sum;
  if (here) {
    sum = bonded_sum<four>(terms, s.position, partners, i, reading);
    added[i] = vector_of<typename P::Real>(sum.force);
    if (sum.stretch >= kStretched) atomicMax(&stretch->stretched, s.velocity[i].tag);
    if (sum.stretch == kBroken) atomicMax(&stretch->broken, s.velocity[i].tag);
  }
  if constexpr (reading) {
    const std::size_t here = static_cast<std::size_t>(blockIdx.x) * kStepSums;
    add_halves_over_block(sum.bonds, sum.angles, partial.two + here);
    if constexpr (four) {
      __syncthreads();  // before the shared memory of the first sums is written again
      add_halves_over_block(sum.dihedrals, sum.impropers, partial.four + here);
    }
  }
}

// Sums of bonded terms of the particles of one engine. They need the bonds of Step::bonds, and
// take their place there.
template <Precision P>
class BondedSums {
 public:
  explicit BondedSums(const Settings& settings)
      : wanted_(has_bonded_terms(settings)),
        of_four_(!settings.dihedrals.empty() || !settings.impropers.empty()),
        stretch_(1) {}

  bool wanted() const { return wanted_; }

  // Room for so many particles, in blocks of at least `block` of them.
  void reserve(std::size_t particles, std::size_t block) {
    if (!wanted_ || particles <= added_.size()) return;
    added_ = DeviceBuffer<Vector<typename P::Real>>(particles);
    const std::size_t sums = (particles / block + 3) * kStepSums;
    partial_ = DeviceBuffer<double>(sums);
    if (of_four_) partial_of_four_ = DeviceBuffer<double>(sums);
  }

  // At the beginning of an advance().
  void forget(cudaStream_t stream) {
    if (wanted_) stretch_.clear(stream);
  }

  // Launches the sums of particles from `first`, a multiple of `block`, to before step.count, and
  // lets the step take them. early: as in launch_kernel().
  void launch(Step<P>& step, const BondedTerms& terms, int first, int block, bool reading,
              cudaStream_t stream, bool early = false) const {
    if (!wanted_ || !step.bonds.entry || first >= step.count) return;
    const auto kernel = for_constant<false, true>(reading, [this](auto is_reading) {
      return for_constant<false, true>(
          of_four_, [](auto four) { return &bonded_kernel<P, decltype(is_reading)::value, four>; });
    });
    const std::size_t at = static_cast<std::size_t>(first / block) * kStepSums;
    const BondedPartials partial{partial_.data() + at,
                                 of_four_ ? partial_of_four_.data() + at : nullptr};
    launch_kernel(kernel, static_cast<unsigned>(blocks_for(step.count - first, block)),
                  static_cast<unsigned>(block), 0, stream, early, step, terms, first, added_.data(),
                  partial, stretch_.data());
    step.bonds = {};
    step.added = added_.data();
  }

  // Adds the sums of the last step of an advance().
  void add_to(EnergyAndVirial& all, int blocks, const DeviceBuffer<double>& total,
              const EngineStream& stream) const {
    const auto [bonds, angles] = sums_over_blocks(blocks, partial_.data(), total, stream);
    all.bonds = bonds;
    all.angles = angles;
    if (!of_four_) return;
    const auto [dihedrals, impropers] =
        sums_over_blocks(blocks, partial_of_four_.data(), total, stream);
    all.dihedrals = dihedrals;
    all.impropers = impropers;
  }
  // Of the steps of an advance(), in the memory of the device.
  const StretchReport* stretch() const { return stretch_.data(); }

 private:
  const bool wanted_, of_four_;  // the latter: dihedrals or impropers
  DeviceBuffer<StretchReport> stretch_;
  DeviceBuffer<Vector<typename P::Real>> added_;
  DeviceBuffer<double> partial_, partial_of_four_;
};

}  // namespace manymove::dpd
