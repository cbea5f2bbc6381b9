// SPDX-License-Identifier: BSD-3-Clause
// The motion of rigid bodies: sums over their particles that have no order, half steps of velocity
// and angular momentum, and rotation by a Richardson iteration as in LAMMPS' fix rigid. In double
// precision on all devices, and made of IEEE operations with nothing left to contract.
#pragma once

#include <cmath>

#include "particle_records.h"
#include "step.h"

namespace manymove::dpd {

struct Quaternion {
  double w, x, y, z;
};

MM_HD Vector<double> cross(const Vector<double>& a, const Vector<double>& b) {
  return {fused(a.y, b.z, -(a.z * b.y)), fused(a.z, b.x, -(a.x * b.z)),
          fused(a.x, b.y, -(a.y * b.x))};
}

// Columns: the axes of a body.
struct BodyAxes {
  Vector<double> x, y, z;

  MM_HD Vector<double> outward(const Vector<double>& a) const {
    return {fused(x.x, a.x, fused(y.x, a.y, z.x * a.z)),
            fused(x.y, a.x, fused(y.y, a.y, z.y * a.z)),
            fused(x.z, a.x, fused(y.z, a.y, z.z * a.z))};
  }
  MM_HD Vector<double> inward(const Vector<double>& a) const {
    return {dot(x, a), dot(y, a), dot(z, a)};
  }
};

MM_HD Quaternion normalized(const Quaternion& q) {
  const double norm =
      1.0 / square_root(fused(q.w, q.w, fused(q.x, q.x, fused(q.y, q.y, q.z * q.z))));
  return {q.w * norm, q.x * norm, q.y * norm, q.z * norm};
}

MM_HD BodyAxes axes_of(const Quaternion& q) {
  // p^2 + q^2 - r^2 - s^2
  const auto square = [](double a, double b, double c, double d) {
    return fused(a, a, fused(b, b, -fused(c, c, d * d)));
  };
  const auto twice = [](double a, double b, double c, double d) {
    return 2.0 * fused(a, b, c * d);
  };
  return {{square(q.w, q.x, q.y, q.z), twice(q.x, q.y, q.w, q.z), twice(q.x, q.z, -q.w, q.y)},
          {twice(q.x, q.y, -q.w, q.z), square(q.w, q.y, q.x, q.z), twice(q.y, q.z, q.w, q.x)},
          {twice(q.x, q.z, q.w, q.y), twice(q.y, q.z, -q.w, q.x), square(q.w, q.z, q.x, q.y)}};
}

// What stays the same.
struct BodyConstants {
  double mass;
  Vector<double> inertia;
  Vector<double> moves, turns;  // 1 or 0
  // Of the virial of constraints: sums of m d_a d_b over places d, in the order of virials.
  double second[6];
};

// What changes from step to step.
struct BodyState {
  Double::Position center;
  Image image;
  Vector<double> velocity, momentum;  // the latter is angular
  Vector<double> omega;               // that the particles have
  Quaternion turn;
  BodyAxes axes;
  Vector<double> force, torque;
  double virial[6];  // of constraints: of half a step, then of the whole step
  bool lost;
};

MM_HD Vector<double> omega_of(const Vector<double>& inertia, const BodyAxes& axes,
                              const Vector<double>& momentum) {
  const Vector<double> along = axes.inward(momentum);
  const auto over = [](double a, double b) { return b == 0 ? 0.0 : a / b; };
  return axes.outward(
      {over(along.x, inertia.x), over(along.y, inertia.y), over(along.z, inertia.z)});
}

// q + factor (0, w) q, normalized: a step of dq/dt = w q / 2.
MM_HD Quaternion turned(const Quaternion& q, const Vector<double>& rate, const Quaternion& of,
                        double factor) {
  const Vector<double> v = {of.x, of.y, of.z}, across = cross(rate, v);
  return normalized({fused(-factor, dot(rate, v), q.w),
                     fused(factor, fused(of.w, rate.x, across.x), q.x),
                     fused(factor, fused(of.w, rate.y, across.y), q.y),
                     fused(factor, fused(of.w, rate.z, across.z), q.z)});
}

// A step of the rotation at constant angular momentum: twice the result of two half steps, the
// second one with the angular velocity in the middle, minus that of a whole one.
MM_HD void rotate(const BodyConstants& c, BodyState& s, double time_step) {
  const double whole = 0.5 * time_step, half = 0.25 * time_step;
  const Quaternion at_once = turned(s.turn, s.omega, s.turn, whole),
                   middle = turned(s.turn, s.omega, s.turn, half);
  s.omega = omega_of(c.inertia, axes_of(middle), s.momentum);
  const Quaternion end = turned(middle, s.omega, middle, half);
  s.turn = normalized({2.0 * end.w - at_once.w, 2.0 * end.x - at_once.x, 2.0 * end.y - at_once.y,
                       2.0 * end.z - at_once.z});
  s.axes = axes_of(s.turn);
}

// ---- sums over particles ----

// The force, then r_a f_b of all a and b, where r is from the center. Each addend is the sum of
// four integers, each in units that are 2^-32 of those of the one before: integers have the same
// sum in any order.
constexpr int kBodySums = 12, kBodyParts = 4, kBodyWords = kBodyParts * kBodySums;

// The first units: 2^-20 of the force that moves the largest mass of a particle in a body by one
// cutoff in one step. An addend may be 2^30 times as large as this force, and has all of its digits
// if it is at least 2^-63 of it.
struct BodyScale {
  double per_force = 1, per_torque = 1;

  BodyScale() = default;
  BodyScale(const Settings& s, double largest_mass) {
    const double force =
        largest_mass * s.cutoff / (s.time_step * s.time_step * s.force_to_acceleration);
    per_force = std::ldexp(1.0, 20 - std::ilogb(force));
    per_torque = std::ldexp(1.0, 20 - std::ilogb(force * s.cutoff));
  }
};

// add(k, word): the integer k of the sums, unless it is 0.
MM_HD void add_to_body(const BodyScale& scale, const Vector<double>& r, const Vector<double>& f,
                       const auto& add) {
  const auto each = [&](int k, double value, double per) {
    const double bound = 0x1p50;  // which also takes what is not a number
    const double units = value * per;
    double rest = units > -bound ? (units < bound ? units : bound) : -bound;
    for (int part = 0; part < kBodyParts; ++part) {
      const std::int64_t whole = nearest_integer(rest);
      if (whole) add(part * kBodySums + k, whole);
      rest = (rest - static_cast<double>(whole)) * 0x1p32;
    }
  };
  const double from[3] = {r.x, r.y, r.z}, force[3] = {f.x, f.y, f.z};
  for (int a = 0; a < 3; ++a) {
    each(a, force[a], scale.per_force);
    for (int b = 0; b < 3; ++b) each(3 + 3 * a + b, from[a] * force[b], scale.per_torque);
  }
}

struct BodySums {
  Vector<double> force;
  double product[3][3];  // r_a f_b

  MM_HD BodySums(const BodyScale& scale, const std::int64_t* word) {
    const auto value = [&](int k, double per) {
      double sum = 0;
      for (int part = kBodyParts; part-- > 0;)
        sum = fused(sum, 0x1p-32, static_cast<double>(word[part * kBodySums + k]));
      return sum / per;
    };
    force = {value(0, scale.per_force), value(1, scale.per_force), value(2, scale.per_force)};
    for (int k = 0; k < 9; ++k) product[k / 3][k % 3] = value(3 + k, scale.per_torque);
  }
  MM_HD Vector<double> torque() const {
    return {product[1][2] - product[2][1], product[2][0] - product[0][2],
            product[0][1] - product[1][0]};
  }
};

// ---- a step ----

struct BodyStep {
  double time_step, half_kick;  // the latter over masses
  BoxFrame box;
  CoordinateFrame<Double> frame;
  BodyScale scale;
};

// Sum of m r_a v_b over the particles of a body, in the order of virials: r from the center with
// these axes, and v = omega x r with others.
MM_HD void add_moment(const BodyConstants& c, const BodyAxes& places, const BodyAxes& now,
                      const Vector<double>& omega, double factor, double virial[6]) {
  // Columns of places times the second moments: sum of m r d_k.
  const double* const m = c.second;
  const Vector<double> column[3] = {places.outward({m[0], m[3], m[4]}),
                                    places.outward({m[3], m[1], m[5]}),
                                    places.outward({m[4], m[5], m[2]})};
  const Vector<double> speed[3] = {cross(omega, now.x), cross(omega, now.y), cross(omega, now.z)};
  for (int k = 0; k < 3; ++k) {
    const Vector<double>&r = column[k], &v = speed[k];
    virial[0] = fused(factor, r.x * v.x, virial[0]);
    virial[1] = fused(factor, r.y * v.y, virial[1]);
    virial[2] = fused(factor, r.z * v.z, virial[2]);
    virial[3] = fused(factor, r.x * v.y, virial[3]);
    virial[4] = fused(factor, r.x * v.z, virial[4]);
    virial[5] = fused(factor, r.y * v.z, virial[5]);
  }
}

// Half of the virial of the forces that keep the shape: m (change of velocity) / (half kick) minus
// the force of each particle.
MM_HD void add_constraints(const BodyStep& step, const BodyConstants& c, BodyState& s,
                           const BodySums& sums, const double center[3],
                           const BodyAxes& axes_before, const Vector<double>& omega_before) {
  const double half = 0.5 / step.half_kick;
  add_moment(c, axes_before, s.axes, s.omega, half, s.virial);
  add_moment(c, axes_before, axes_before, omega_before, -half, s.virial);
  // Forces that do not move the body act at its center, and depend on the origin, as in LAMMPS.
  const double held[3] = {(1.0 - c.moves.x) * sums.force.x, (1.0 - c.moves.y) * sums.force.y,
                          (1.0 - c.moves.z) * sums.force.z};
  constexpr int kPair[6][2] = {{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 2}};
  for (int k = 0; k < 6; ++k) {
    const int a = kPair[k][0], b = kPair[k][1];
    s.virial[k] = fused(-0.5, fused(center[a], held[b], sums.product[a][b]), s.virial[k]);
  }
}

MM_HD void kick_body(const BodyStep& step, const BodyConstants& c, BodyState& s) {
  const double by = step.half_kick / c.mass;
  const auto add = [](Vector<double>& to, const Vector<double>& allowed, const Vector<double>& of,
                      double factor) {
    to.x = fused(allowed.x * of.x, factor, to.x);
    to.y = fused(allowed.y * of.y, factor, to.y);
    to.z = fused(allowed.z * of.z, factor, to.z);
  };
  add(s.velocity, c.moves, s.force, by);
  add(s.momentum, c.turns, s.torque, step.half_kick);
}

// A step of the center in units of the frame.
MM_HD void drift_body(const BodyStep& step, BodyState& s) {
  const double t = step.time_step;
  const auto& to = step.frame.to;
  const Vector<double> by =
      to.times(t * s.velocity.x, t * s.velocity.y, t * s.velocity.z, step.frame.tilted != 0);
  const double too_far = 0x1p62;
  if (!(abs_of(by.x) < too_far && abs_of(by.y) < too_far && abs_of(by.z) < too_far)) {
    s.lost = true;
    return;
  }
  s.image.add(advance_coordinate<Double>(s.center.x, by.x),
              advance_coordinate<Double>(s.center.y, by.y),
              advance_coordinate<Double>(s.center.z, by.z));
}

enum class BodyPhase { begin, middle, rest };

// From the forces of a step on: to rest at the end of the step, or to the middle of the next one
// and to its positions (begin: from rest, with the force and the torque that the body has).
MM_HD void step_body(const BodyStep& step, BodyPhase phase, const BodyConstants& c, BodyState& s,
                     const BodySums& sums) {
  double center[3];
  leave_frame<Double>(step.box, s.center, center);
  if (phase != BodyPhase::begin) {
    s.force = sums.force;
    s.torque = sums.torque();
    kick_body(step, c, s);
    const Vector<double> before = s.omega;
    s.omega = omega_of(c.inertia, s.axes, s.momentum);
    if (phase == BodyPhase::rest) return add_constraints(step, c, s, sums, center, s.axes, before);
  }
  const BodyAxes axes = s.axes;
  const Vector<double> at_rest = s.omega;
  kick_body(step, c, s);
  drift_body(step, s);
  s.omega = omega_of(c.inertia, axes, s.momentum);
  rotate(c, s, step.time_step);
  for (double& v : s.virial) v = 0;
  add_constraints(step, c, s, sums, center, axes, at_rest);
}

// ---- particles of a body ----

// The place of a particle at r from the center: in units of the frame of double precision, or the
// nearest one of another.
template <Precision P>
MM_HD void place_in_body(const BodyStep& step, const BodyState& s, const Vector<double>& r,
                         typename P::Position& to) {
  const Vector<double> by = step.frame.to.times(r.x, r.y, r.z, step.frame.tilted != 0);
  const auto place = [](std::uint64_t center, double units) {
    // Modulo 2^64, from -2^63 to before 2^63: a body may be longer than the box.
    const double rest = fused(-0x1p64, __builtin_floor(fused(units, 0x1p-64, 0.5)), units);
    const std::uint64_t u = center + static_cast<std::uint64_t>(nearest_integer(rest));
    if constexpr (sizeof(to.x) == 4)
      return static_cast<std::uint32_t>((u + 0x80000000u) >> 32);
    else
      return u;
  };
  to.x = place(s.center.x, by.x);
  to.y = place(s.center.y, by.y);
  to.z = place(s.center.z, by.z);
}

// Crossings of a periodic face on the shorter way from one coordinate to another.
template <Precision P>
MM_HD int crossings(typename P::Unsigned from, typename P::Unsigned to) {
  const bool down = static_cast<typename P::Signed>(to - from) < 0, wrapped = to < from;
  return static_cast<int>(wrapped) - static_cast<int>(down);
}

// Gives a particle its velocity, and unless the body is at rest its place. force: a component of
// its force, which is not a number where a pair is forbidden. Returns the crossings.
template <Precision P>
MM_HD FaceCrossings follow_body(const BodyStep& step, bool rests, const BodyState& s,
                                const Vector<double>& place, typename P::Real force,
                                typename P::Position& r, typename P::Velocity& v) {
  using Real = typename P::Real;
  const Vector<double> from_center = s.axes.outward(place);
  const Vector<double> speed = s.velocity + cross(s.omega, from_center);
  v.x = static_cast<Real>(speed.x);
  v.y = static_cast<Real>(speed.y);
  v.z = static_cast<Real>(speed.z);
  FaceCrossings crossing;
  if (force != force) v.x = force;
  crossing.lost = !rests && (s.lost || force != force);
  if (rests || crossing.lost) return crossing;
  const typename P::Position before = r;
  place_in_body<P>(step, s, from_center, r);
  crossing.x = crossings<P>(before.x, r.x);
  crossing.y = crossings<P>(before.y, r.y);
  crossing.z = crossings<P>(before.z, r.z);
  return crossing;
}

}  // namespace manymove::dpd
