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
      tables_.push_back({on_device(laws.pairs, stream), on_device(laws.across, stream),
                         on_device(laws.potentials, stream), on_device(laws.harmonic, stream),
                         on_device(laws.bonds, stream), on_device(laws.angles, stream),
                         on_device(laws.impropers, stream), on_device(laws.dihedrals, stream),
                         on_device(laws.nodes, stream), on_device(laws.scalars, stream),
                         laws.forces, static_cast<Real>(unit)});
      tables_.back().forces.laws = tables_.back().pairs.data();
      tables_.back().forces.laws_across = tables_.back().across.data();
      tables_.back().forces.nodes = tables_.back().nodes.data();
      if constexpr (has_scalars<P>)
        tables_.back().forces.scalars.laws = tables_.back().scalars.data();
      if (!laws.potentials.empty())
        tables_.back().forces.potentials = tables_.back().potentials.data();
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
    terms.bonds = tables_[table].bonds.data();
    terms.angles = tables_[table].angles.data();
    terms.impropers = tables_[table].impropers.data();
    terms.dihedrals = tables_[table].dihedrals.data();
    terms.nodes = tables_[table].nodes.data();
    return terms;
  }

 private:
  struct Table {  // Laws in the memory of the device
    DeviceBuffer<PairLaw<Real>> pairs;
    DeviceBuffer<TransverseLaw<Real>> across;
    DeviceBuffer<PotentialLaw<Real>> potentials;
    DeviceBuffer<BondLaw<Real>> harmonic;
    DeviceBuffer<BondedLaw> bonds, angles, impropers;
    DeviceBuffer<DihedralLaw> dihedrals;
    DeviceBuffer<TableNode> nodes;
    DeviceBuffer<ScalarLaw<Real>> scalars;
    Forces<P> forces;
    Real unit;  // of forces
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
