// SPDX-License-Identifier: BSD-3-Clause
// Rigid bodies on one GPU. A step ends at rest, with the forces on all particles; then forces are
// added up over each body, bodies move, and all particles go on to the next step.
#pragma once

#include <vector>

#include "../body_states.h"
#include "engine_stream.cuh"
#include "step_arguments.cuh"

namespace manymove::dpd {

// A particle of a body, by slot.
struct DeviceRigidParticle {
  int body;  // -1: it is in none
  Vector<double> place;
};

struct BodiesOfStep {
  int count;
  BodyPhase phase;
  BodyStep step;
  const DeviceRigidParticle* particle;
  const BodyConstants* constants;
  BodyState* state;
  unsigned long long* words;  // [count][kBodyWords], which are 0 before a step
};

// One thread per particle: adds its force to those of its body. In the middle of a run these are
// the total forces; else they lack body forces.
template <Precision P>
__global__ void add_to_bodies_kernel(const __grid_constant__ Step<P> s, const BodiesOfStep bodies) {
  const int i = index_of_thread();
  if (i >= s.count || stale(s.status, s.number)) return;
  const DeviceRigidParticle& particle = bodies.particle[s.origin[i]];
  if (particle.body < 0) return;
  const Vector<typename P::Real> force =
      bodies.phase == BodyPhase::middle ? s.force[i]
                                        : with_body_forces(s.motion, s.position[i], s.force[i]);
  const Vector<double> r = bodies.state[particle.body].axes.outward(particle.place);
  unsigned long long* const words = bodies.words + std::int64_t{particle.body} * kBodyWords;
  add_to_body(bodies.step.scale, r, vector_of<double>(force), [&](int word, std::int64_t value) {
    atomicAdd(&words[word], static_cast<unsigned long long>(value));
  });
}

// One thread per body.
template <Precision P>
__global__ void move_bodies_kernel(const __grid_constant__ Step<P> s, const BodiesOfStep bodies) {
  const int b = index_of_thread();
  if (b >= bodies.count || stale(s.status, s.number)) return;
  std::int64_t words[kBodyWords];
  for (int k = 0; k < kBodyWords; ++k)
    words[k] = static_cast<std::int64_t>(bodies.words[std::int64_t{b} * kBodyWords + k]);
  BodyState state = bodies.state[b];
  step_body(bodies.step, bodies.phase, bodies.constants[b], state,
            BodySums(bodies.step.scale, words));
  bodies.state[b] = state;
}

// One thread per particle: one of a body follows it, and in the middle of a run all others end
// their step, too.
template <Precision P>
__global__ void follow_bodies_kernel(const __grid_constant__ Step<P> s, const BodiesOfStep bodies) {
  const int i = index_of_thread();
  if (i >= s.count || stale(s.status, s.number)) return;
  const DeviceRigidParticle& particle = bodies.particle[s.origin[i]];
  typename P::Position r = s.position[i];
  if (particle.body < 0) {
    if (bodies.phase != BodyPhase::middle) return;
    typename P::Velocity v = s.next_velocity[i];
    kick<true>(s.motion, r, v, s.force[i]);
    move<false>(s, i, r, v, s.sphere[i], s.number + 1);
    return write_next(s, i, r, v);
  }
  typename P::Velocity v = s.velocity[i];
  const bool rests = bodies.phase == BodyPhase::rest;
  const FaceCrossings crossing = follow_body<P>(bodies.step, rests, bodies.state[particle.body],
                                                particle.place, s.force[i].x, r, v);
  if (crossing.lost) lose(s.status, v.tag, s.number + 1);
  if (rests) {
    s.next_velocity[i] = v;
    return;
  }
  s.image[s.origin[i]].add(crossing.x, crossing.y, crossing.z);
  if (moved_far(s.cells, s.sphere[i], r)) expire(s.status, s.number + 1);
  write_next(s, i, r, v);
}

class DeviceBodies {
 public:
  explicit DeviceBodies(const Settings& settings) : states_(settings) {}

  // Particles are in the order of the host. Throws std::invalid_argument.
  void take(std::size_t n, const Topology& topology, const BoxFrame& frame,
            const EngineStream& stream) {
    states_.take(topology.rigid, frame);
    if (!any()) return;
    const HostTagIndex known(n, topology.tag);
    std::vector<DeviceRigidParticle> particles(n, {-1, {}});
    for (const RigidParticle& particle : states_.particles())
      if (const auto i = known.find(particle.tag); i != TagIndex::kMissing)
        particles[i] = {particle.body, vector_from<double>(particle.place)};
    particle_ = on_device(particles, stream);
    constants_ = on_device(states_.constants(), stream);
    state_ = on_device(states_.state(), stream);
    words_ = DeviceBuffer<unsigned long long>(states_.count() * kBodyWords);
  }
  bool any() const { return states_.any(); }
  std::vector<RigidBody> bodies(const BoxFrame& frame) const { return states_.leave(frame); }

  // After the forces of a step.
  template <Precision P>
  void launch(const Step<P>& s, BodyPhase phase, const BoxFrame& frame, cudaStream_t stream) {
    words_.clear(stream);
    const BodiesOfStep bodies{static_cast<int>(states_.count()),
                              phase,
                              states_.step_in(frame),
                              particle_.data(),
                              constants_.data(),
                              state_.data(),
                              words_.data()};
    launch_each(s.count, stream, &add_to_bodies_kernel<P>, s, bodies);
    launch_each(bodies.count, stream, &move_bodies_kernel<P>, s, bodies);
    launch_each(s.count, stream, &follow_bodies_kernel<P>, s, bodies);
  }
  // After a step that ends at rest: the bodies, and the sums of their constraints.
  EnergySum fetch(const EngineStream& stream) {
    stream.fetch(state_.data(), states_.state().data(), states_.count());
    return states_.constraints();
  }

 private:
  BodyStates states_;  // of the last step at rest
  DeviceBuffer<DeviceRigidParticle> particle_;
  DeviceBuffer<BodyConstants> constants_;
  DeviceBuffer<BodyState> state_;
  DeviceBuffer<unsigned long long> words_;
};

}  // namespace manymove::dpd
