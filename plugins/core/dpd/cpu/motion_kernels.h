// SPDX-License-Identifier: BSD-3-Clause
// Motion of the particles of a chunk, for kernels.cpp alone.
#pragma once

#include "step_arguments.h"

namespace manymove::dpd::MANYMOVE_SIMD {
namespace {

// Advances a particle to its position in the next step.
template <Precision P>
void move_on(const StepArguments<P>& s, int i, typename P::Position r, typename P::Velocity v,
             Chunk& chunk) {
  const FaceCrossings crossing = drift(s.motion, r, v);
  // The flow where the particle is now is faster or slower.
  if (s.forces.shear.any()) follow_flow(s.forces.shear, s.motion.time_step, v);
  if (crossing.x | crossing.y | crossing.z) s.image[i].add(crossing.x, crossing.y, crossing.z);
  if (crossing.lost && v.tag > chunk.lost) chunk.lost = v.tag;
  if (s.sphere && moved_far(s.cells, s.sphere[i], r)) chunk.expired = true;
  s.next_position[i] = r;
  s.next_velocity[i] = v;
  if (s.next_near) {
    const std::uint32_t place[4] = {high_word(r.x), high_word(r.y), high_word(r.z), 0};
    std::memcpy(s.next_near + 4 * static_cast<std::int64_t>(i), place, sizeof place);
  }
}

template <Precision P>
void begin(const StepArguments<P>& s, Chunk& chunk) {
  for (int i = chunk.first; i < chunk.last; ++i) {
    const typename P::Position r = s.position[i];
    typename P::Velocity v = s.velocity[i];
    // v(t + dt/2) = v(t) + f(t) dt / 2m; then r(t + dt) = r(t) + v(t + dt/2) dt (Eq. 1).
    const Vector<typename P::Real> force = with_body_forces(s.motion, r, s.force[i]);
    if (s.total) s.total[i] = force;
    kick<true>(s.motion, r, v, force);
    if constexpr (has_scalars<P>) kick_scalars(s.motion, r, v, s.flux[i]);
    move_on(s, i, r, v, chunk);
  }
}

}  // namespace
}  // namespace manymove::dpd::MANYMOVE_SIMD
