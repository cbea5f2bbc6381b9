// SPDX-License-Identifier: BSD-3-Clause
#include "body_states.h"

#include <algorithm>
#include <cmath>

#include "../runtime/text.h"

namespace manymove::dpd {

namespace {

void store(const Vector<double>& from, double to[3]) {
  to[0] = from.x;
  to[1] = from.y;
  to[2] = from.z;
}

void check_body(std::size_t number, const RigidBody& body) {
  const double* const q = body.quaternion;
  double all = body.mass + q[0] + q[1] + q[2] + q[3];
  bool positive = body.mass > 0;
  for (int a = 0; a < 3; ++a) {
    all += body.inertia[a] + body.velocity[a] + body.angular_momentum[a] + body.force[a] +
           body.torque[a];
    positive = positive && body.inertia[a] >= 0;
  }
  if (!std::isfinite(all) || !positive)
    refuse(
        "rigid body ", number + 1,
        " has a mass that is not positive, a negative moment of inertia, or numbers that are not "
        "finite");
}

BodyConstants constants_of(const RigidBody& body) {
  BodyConstants c{};
  c.mass = body.mass;
  c.inertia = vector_from<double>(body.inertia);
  const auto flags = [](const bool on[3]) {
    return Vector<double>{on[0] ? 1.0 : 0.0, on[1] ? 1.0 : 0.0, on[2] ? 1.0 : 0.0};
  };
  c.moves = flags(body.moves);
  c.turns = flags(body.turns);
  return c;
}

BodyState state_of(const RigidBody& body, const BodyConstants& c, const BoxFrame& frame,
                   std::size_t number) {
  BodyState s{};
  int image[3] = {body.image[0], body.image[1], body.image[2]};
  if (!enter_frame<Double>(frame, body.center, s.center, image))
    refuse("the center of rigid body ", number + 1, " is outside the box, or not finite");
  s.image = {image[0], image[1], image[2]};
  s.velocity = vector_from<double>(body.velocity);
  s.momentum = vector_from<double>(body.angular_momentum);
  s.force = vector_from<double>(body.force);
  s.torque = vector_from<double>(body.torque);
  const double* const q = body.quaternion;
  s.turn = {q[0], q[1], q[2], q[3]};
  s.axes = axes_of(s.turn);
  s.omega = omega_of(c.inertia, s.axes, s.momentum);
  return s;
}

}  // namespace

BodyStates::BodyStates(const Settings& settings)
    : settings_(settings), half_kick_(0.5 * settings.time_step * settings.force_to_acceleration) {}

void BodyStates::take(const RigidBodies* bodies, const BoxFrame& frame) {
  host_ = {};
  constants_.clear();
  state_.clear();
  if (!bodies) return;
  std::vector<BodyConstants> constants;
  std::vector<BodyState> state;
  for (std::size_t b = 0; b < bodies->bodies.size(); ++b) {
    check_body(b, bodies->bodies[b]);
    constants.push_back(constants_of(bodies->bodies[b]));
    state.push_back(state_of(bodies->bodies[b], constants[b], frame, b));
  }
  double largest = 0;
  for (const RigidParticle& particle : bodies->particles) {
    largest = std::max(largest, particle.mass);
    const double* const d = particle.place;
    double* const second = constants.at(static_cast<std::size_t>(particle.body)).second;
    constexpr int kPair[6][2] = {{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 2}};
    for (int k = 0; k < 6; ++k) second[k] += particle.mass * d[kPair[k][0]] * d[kPair[k][1]];
  }
  scale_ = largest > 0 ? BodyScale(settings_, largest) : BodyScale();
  host_ = *bodies;
  constants_ = std::move(constants);
  state_ = std::move(state);
}

std::vector<RigidBody> BodyStates::leave(const BoxFrame& frame) const {
  std::vector<RigidBody> bodies = host_.bodies;
  for (std::size_t b = 0; b < bodies.size(); ++b) {
    const BodyState& s = state_[b];
    RigidBody& body = bodies[b];
    leave_frame<Double>(frame, s.center, body.center);
    body.image[0] = s.image.x;
    body.image[1] = s.image.y;
    body.image[2] = s.image.z;
    store(s.velocity, body.velocity);
    store(s.momentum, body.angular_momentum);
    store(s.omega, body.angular_velocity);
    store(s.force, body.force);
    store(s.torque, body.torque);
    const double turn[4] = {s.turn.w, s.turn.x, s.turn.y, s.turn.z};
    std::copy_n(turn, 4, body.quaternion);
  }
  return bodies;
}

EnergySum BodyStates::constraints() const {
  EnergySum sum;
  for (const BodyState& s : state_)
    for (int k = 0; k < 6; ++k) sum.virial[k] += s.virial[k];
  return sum;
}

}  // namespace manymove::dpd
