// SPDX-License-Identifier: BSD-3-Clause
// Scalars of the pairs of a batch, and lengths for several pairs at a time, for kernels.cpp alone.
#pragma once

#include "step_arguments.h"

namespace manymove::dpd::MANYMOVE_SIMD {
namespace {

// Lengths of the frame's units, for several at a time.
struct Lengths : Matrix<float> {
  bool tilted;

  // |L u|^2 for differences u = (a, b, c) of positions and the matrix L of the edges.
  template <class Floats, class Ints>
  MM_LANES Floats squares(Ints a, Ints b, Ints c) const {
    const Floats v = __builtin_convertvector(b, Floats), w = __builtin_convertvector(c, Floats),
                 z = w * zz;
    Floats x = __builtin_convertvector(a, Floats) * xx, y = v * yy;
    if (tilted) {
      x += v * xy + w * xz;
      y += w * yz;
    }
    return x * x + y * y + z * z;
  }
};

// What a batch has of each pair, and where its force and energy go.
template <class Real>
struct PairsOfBatch {
  const Real *squared, *approach, *noise;
  Real *force, *energy;
};

// Scalars of the particles of each pair, and what the first one receives of them.
template <Precision P, int room>
struct ScalarBatch {
  using Real = typename P::Real;
  Vector<Real> mine[room], other[room];
  Vector<double> flux[room];
  Real noise[kScalars][room];

  MM_LANES void set(int n, const Vector<Real>& of_i, const Vector<Real>& of_j) {
    mine[n] = of_i;
    other[n] = of_j;
  }
  // types: places of the pairs in tables of laws.
  void evaluate(const Forces<P>& forces, int count, const auto& laws, const std::uint32_t* types,
                const PairsOfBatch<Real>& pairs) {
    for (int n = 0; n < count; ++n) {
      Vector<double> received = {0, 0, 0};
      const ScalarPair<Real> pair = {mine[n],          other[n],
                                     pairs.squared[n], pairs.approach[n],
                                     pairs.noise[n],   {noise[0][n], noise[1][n], noise[2][n]}};
      const PairForce<Real> f = scalar_pair(forces.scalars.kind, laws.of(n),
                                            forces.scalars.laws[types[n]], pair, received);
      const bool within = pairs.squared[n] < forces.cutoff_squared;
      pairs.force[n] = within ? f.over_distance : Real(0);
      pairs.energy[n] = within ? f.energy : Real(0);
      flux[n] = within ? received : Vector<double>{0, 0, 0};
    }
  }
};

}  // namespace
}  // namespace manymove::dpd::MANYMOVE_SIMD
