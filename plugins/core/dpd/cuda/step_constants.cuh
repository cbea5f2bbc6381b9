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
      const double unit = kIntegers<P> ? force_unit(settings) : 1;
      const Laws<P> laws = laws_of<P>(settings, unit);
      Table& table = tables_.emplace_back();
      table.unit = static_cast<Real>(unit);
      table.forces = laws.forces;
      table.terms = terms_;
      table.memory.load(laws.pairs, table.forces.laws, stream);
      table.memory.load(laws.across, table.forces.laws_across, stream);
      table.memory.load(laws.potentials, table.forces.potentials, stream);
      table.memory.load(laws.nodes, table.forces.nodes, stream);
      if constexpr (has_scalars<P>)
        table.memory.load(laws.scalars, table.forces.scalars.laws, stream);
      table.memory.load(laws.harmonic, table.harmonic, stream);
      table.memory.load(laws.bonds, table.terms.bonds, stream);
      table.memory.load(laws.angles, table.terms.angles, stream);
      table.memory.load(laws.impropers, table.terms.impropers, stream);
      table.memory.load(laws.dihedrals, table.terms.dihedrals, stream);
      table.terms.nodes = table.forces.nodes;
    }
  }
  // Lets a step have the coefficients of a table.
  void choose(Step<P>& step, std::size_t table) const {
    const NoiseKey noise = step.forces.noise;
    step.forces = tables_[table].forces;
    step.forces.noise = noise;
    step.unit = tables_[table].unit;
    step.bond_laws = tables_[table].harmonic;
  }
  // The laws of bonded terms of a table, for bonded_sum().
  const BondedTerms& bonded_terms(std::size_t table) const { return tables_[table].terms; }

 private:
  struct Table {
    DeviceArrays memory;  // of the laws
    Forces<P> forces;
    Real unit;  // of forces
    const BondLaw<Real>* harmonic;
    BondedTerms terms;
  };

  const DeviceBuffer<Real> half_kicks_, thermostats_;
  const BondedTerms terms_;
  std::vector<Table> tables_;
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
