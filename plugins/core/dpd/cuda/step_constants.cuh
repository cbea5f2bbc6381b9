// SPDX-License-Identifier: BSD-3-Clause
// What the steps of an engine take from its settings, in the memory of the device.
#pragma once

#include <array>
#include <vector>

#include "../settings.h"
#include "engine_stream.cuh"
#include "step_kernels.cuh"

namespace manymove::dpd {

template <Precision P>
class StepConstants {
  using Real = typename P::Real;

 public:
  StepConstants(const Settings& settings, const EngineStream& stream)
      : half_kicks_(on_device(half_kicks_of<P>(settings), stream)),
        thermostats_(on_device(thermostat_coefficients_of<P>(settings), stream)),
        terms_(bonded_terms_of<P>(settings.box)) {
    step_.motion = motion_of<P>(settings, half_kicks_.data(), thermostats_.data());
    step_.shorts = shorts_of(settings, settings.cutoff);
    step_.density_shorts = shorts_of(settings, settings.pairs.many_body.cutoff);
    take({settings}, stream);
    choose(step_, 0);
  }

  // A step that knows the settings, and has no particles yet. It points into this object.
  const Step<P>& step() const { return step_; }

  // Tables of coefficients: those of these settings, which are the same in all else.
  void take(const std::vector<Settings>& tables, cudaStream_t stream) {
    tables_.clear();
    for (const Settings& settings : tables) {
      const Laws<P> laws = laws_of<P>(settings, kIntegers<P> ? force_unit(settings) : 1);
      tables_.push_back({on_device(laws.pairs, stream), on_device(laws.across, stream),
                         on_device(laws.potentials, stream), on_device(laws.scalars, stream),
                         on_device(laws.harmonic, stream), on_device(laws.bonds, stream),
                         on_device(laws.angles, stream), on_device(laws.impropers, stream),
                         on_device(laws.dihedrals, stream), on_device(laws.nodes, stream),
                         laws.forces, laws.unit});
      tables_.back().find_laws();
    }
  }
  // Lets a step have the coefficients of a table.
  void choose(Step<P>& step, std::size_t table) const {
    const NoiseKey noise = step.forces.noise;
    step.forces = tables_[table].forces;
    step.forces.noise = noise;
    step.unit = tables_[table].unit;
    step.bond_laws = tables_[table].harmonic.data();
  }
  // The laws of bonded terms of a table, for bonded_sum().
  BondedTerms bonded_terms(std::size_t table) const {
    BondedTerms terms = terms_;
    tables_[table].give_laws_to(terms);
    return terms;
  }

 private:
  const DeviceBuffer<Real> half_kicks_, thermostats_;
  const BondedTerms terms_;
  std::vector<Laws<P, DeviceBuffer>> tables_;
  Step<P> step_{};
};

// Sums over the blocks of the last step, whose kernels have written `partial`: of pairs and bonds,
// of bonds and angles, or of dihedrals and impropers.
inline std::array<EnergySum, 2> sums_over_blocks(int blocks, const double* partial,
                                                 const DeviceBuffer<double>& total,
                                                 const EngineStream& stream) {
  total_kernel<<<1, 64 * kStepSums, 0, stream>>>(blocks, partial, total.data());
  check_launch();
  std::array<EnergySum, 2> sums;
  static_assert(sizeof sums == kStepSums * sizeof(double));
  stream.fetch(total.data(), &sums[0].energy, kStepSums);
  return sums;
}

}  // namespace manymove::dpd
