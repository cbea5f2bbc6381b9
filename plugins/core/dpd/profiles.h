// SPDX-License-Identifier: BSD-3-Clause
// Sums over the particles in the bins of a profile. Each addend is an integer in units of the
// largest one, so that the sums do not depend on the order of particles.
#pragma once

#include "particle_records.h"
#include "velocity_changes.h"

namespace manymove::dpd {

// The bin of a place, or -1. Operations are those of LAMMPS' compute chunk/atom.
MM_HD int bin_of(const Profile& profile, const double r[3]) {
  int bin = 0;
  for (int k = 0; k < profile.axes; ++k) {
    const Profile::Axis& axis = profile.axis[k];
    double x = mul_rn(r[axis.along] - axis.shift, axis.scale);
    if (axis.period > 0 && x < axis.low) x += axis.period;
    if (axis.period > 0 && x >= axis.high) x -= axis.period;
    int layer = static_cast<int>((x - axis.offset) * axis.per_length) - (x < axis.offset);
    if (axis.takes_lower && layer < 0) layer = 0;
    if (axis.takes_upper && layer >= axis.layers) layer = axis.layers - 1;
    if (layer < 0 || layer >= axis.layers) return -1;
    bin = bin * axis.layers + layer;
  }
  return bin;
}

// Particles at rest; mass: by type.
template <Precision P>
struct ProfiledParticles {
  int count;
  BoxFrame frame;
  const double* mass;
  const typename P::Position* position;
  const typename P::Velocity* velocity;
  const Vector<typename P::Real>* force;
};

// Calls visit(word, column, value) for each column of particle i if it is in a bin; word: of the
// sum.
template <Precision P>
MM_HD void visit_profile(const Profile& profile, const ProfiledParticles<P>& all, int i,
                         const auto& visit) {
  const Arrival a =
      arrival_of<P>(all.frame, 0, all.position[i], all.velocity[i], all.force[i], {}, {});
  const int bin = bin_of(profile, a.position);
  if (bin < 0) return;
  const double m = all.mass[all.position[i].kind & 0xffffu];
  const double* const v = a.velocity;
  for (int c = 0; c < profile.columns; ++c) {
    double value = 1;  // of kNumber
    switch (profile.column[c].kind) {
      case Profile::kNumber:
        break;
      case Profile::kMass:
        value = m;
        break;
      case Profile::kSquare:
        value = m * fused(v[0], v[0], fused(v[1], v[1], v[2] * v[2]));
        break;
      case Profile::kVelocity:
        value = v[profile.column[c].axis];
        break;
      case Profile::kForce:
        value = a.force[profile.column[c].axis];
    }
    visit(2 * (static_cast<std::size_t>(bin) * profile.columns + c), c, value);
  }
}

// A value of visit_profile(): without units the largest size of its column, whose bits have the
// order of positive numbers; else its lower and upper part are added as in Moments.
MM_HD void take_value(const double* units, std::size_t word, int column, double value,
                      const auto& largest, const auto& add) {
  if (!units)
    return largest(column, static_cast<std::int64_t>(bits_of(value) & ~(std::uint64_t{1} << 63)));
  Moments one;
  one.add(0, value * units[column]);
  add(word, one.word[0]);
  add(word + 1, one.word[Moments::kSums]);
}

}  // namespace manymove::dpd
