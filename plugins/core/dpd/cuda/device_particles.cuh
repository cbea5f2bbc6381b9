// SPDX-License-Identifier: BSD-3-Clause
// The particles of one engine in the memory of its GPU, and the arrays of their steps.
#pragma once

#include "../particle_records.h"
#include "step_arguments.cuh"

namespace manymove::dpd {

// Entries of lists in whole groups.
constexpr int whole_groups(int entries) { return (entries + kGroup - 1) / kGroup * kGroup; }

template <Precision P>
struct DeviceParticles {
  using Real = typename P::Real;
  struct State {
    DeviceBuffer<typename P::Position> position;
    DeviceBuffer<typename P::Velocity> velocity;
    DeviceBuffer<ShortPosition> shorts;
  };

  State state[3];  // of successive steps; the third is for engines that repeat steps
  int now = 0;     // index of the present state
  int count = 0;   // of particles
  int lanes = 1;   // of lanes_of()
  int list_capacity = 0, list_stride = 0;

  // In the order of particles.
  DeviceBuffer<Vector<Real>> force;
  DeviceBuffer<Vector<double>> flux;  // of scalars
  DeviceBuffer<BoundingSphere> sphere;
  DeviceBuffer<Real> density;  // of many-body forces
  DeviceBuffer<unsigned> slot, slot_there;
  DeviceBuffer<unsigned> entry;  // of lists
  DeviceBuffer<int> number;
  DeviceBuffer<double> partial;  // sums of blocks
  // By slot, in which the values that a step seldom needs stay while particles are sorted. On one
  // rank the slot is the index of the host.
  DeviceBuffer<Image> image;
  // In the order of the host.
  DeviceBuffer<double[3]> staging;

  const State& present() const { return state[now]; }
  // Particles that a block of a step has.
  int block() const { return kThreads / lanes; }
  NeighborLists lists() const {
    return {entry.data(), number.data(), list_capacity, list_stride, kHalfLists<P> ? block() : 0};
  }
  // Room for lists of `entries` of so many particles; what was in them is lost.
  void allocate_lists(int entries, int particles) {
    list_capacity = 0;
    entry = {};
    entry = DeviceBuffer<unsigned>(static_cast<std::size_t>(entries) *
                                   static_cast<unsigned>(particles));
    list_capacity = entries;
    list_stride = particles;
  }
  // The arrays of a step from the present state to another one.
  void set_arrays(Step<P>& s, const State& there) const {
    const State& here = present();
    s.count = count;
    s.lists = lists();
    s.sphere = sphere.data();
    s.image = image.data();
    s.origin = slot.data();
    s.position = here.position.data();
    s.velocity = here.velocity.data();
    s.short_position = here.shorts.data();
    s.next_position = there.position.data();
    s.next_velocity = there.velocity.data();
    s.next_short = there.shorts.data();
    s.force = force.data();
    s.flux = flux.data();
    s.partial = partial.data();
  }
};

}  // namespace manymove::dpd
