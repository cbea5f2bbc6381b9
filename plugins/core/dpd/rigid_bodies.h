// SPDX-License-Identifier: BSD-3-Clause
// Rigid bodies as a host program has them.
#pragma once

#include <cstdint>
#include <vector>

namespace manymove::dpd {

// A body at a time step. Its angular momentum is about its center of mass, in the frame of the box.
// The quaternion (real part first) turns the axes of the body, along which the inertia is diagonal,
// into those of the box. A moment of inertia of 0 is that of an axis about which the body does not
// turn.
struct RigidBody {
  double mass, inertia[3];
  double center[3];  // of mass, Cartesian, wrapped into the box on the way out
  int image[3];      // times that a periodic face was crossed
  double velocity[3], angular_momentum[3], quaternion[4];
  // Whether the components of its force and of its torque accelerate it.
  bool moves[3] = {true, true, true}, turns[3] = {true, true, true};
  // The sum of the forces on its particles, and their torque about its center, of this step.
  double force[3] = {}, torque[3] = {};
  double angular_velocity[3] = {};  // on the way out
};

// A particle of a body, at this place along the body's axes from its center.
struct RigidParticle {
  std::uint32_t tag;
  int body;
  double mass, place[3];
};

// Those of all ranks, the same on each.
struct RigidBodies {
  std::vector<RigidBody> bodies;
  std::vector<RigidParticle> particles;  // sorted by body
  bool excluded = false;                 // pairs within a body have no forces
};

}  // namespace manymove::dpd
