// SPDX-License-Identifier: BSD-3-Clause
// Thermostats that scale velocities, and the removal of momentum: sums over a group that have no
// order, and what they make of a velocity.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "../runtime/macros.h"
#include "../runtime/text.h"
#include "engine.h"
#include "fixed_point.h"

namespace manymove::dpd {

// Sums of m v^2, m v_x, m v_y and m v_z over the particles of a group. Each addend is rounded to a
// 64-bit integer, whose lower and upper 32 bits are added up separately: integers of any number of
// threads, blocks and ranks have the same sum in any order.
struct Moments {
  static constexpr int kSums = 4;
  std::int64_t word[2 * kSums] = {};  // all lower parts, then all upper ones

  MM_HD void add(int k, double units) {
    const double bound = 0x1p62;  // which also takes what is not a number
    const std::int64_t value =
        nearest_integer(units > -bound ? (units < bound ? units : bound) : -bound);
    word[k] += value & 0xffffffffLL;
    word[kSums + k] += value >> 32;
  }
  MM_HD double units(int k) const {
    return fused(static_cast<double>(word[kSums + k]), 0x1p32, static_cast<double>(word[k]));
  }
};
using ProfileWords = std::vector<std::int64_t>;  // both parts of each sum over a bin, or sizes

// Units per m v^2 and per m v of a particle of each type, [types + 1][2]. The largest mass at the
// speed of one cutoff per step has 2^56 and 2^54 units. A particle of mass m and speed v has
// (m / largest mass) (v time step / cutoff)^2 2^56 units of m v^2: these are at least ten digits if
// it moves by 0.0004 sqrt(largest mass / m) of the cutoff per step. The smaller the time step, the
// fewer digits there are.
struct MomentScale {
  double of_square, of_first;  // units per m v^2 and per m v
  MM_HD double square(const Moments& sums, int k = 0) const { return sums.units(k) / of_square; }
  MM_HD double momentum(const Moments& sums, int axis) const {
    return sums.units(1 + axis) / of_first;
  }
};
class MomentUnits {
 public:
  explicit MomentUnits(const Settings& s) {
    double largest = 0;
    for (std::size_t k = 1; k < s.mass.size(); ++k) largest = std::fmax(largest, s.mass[k]);
    const double speed = s.cutoff / s.time_step;
    scale_ = {0x1p56 / (largest * speed * speed), 0x1p54 / (largest * speed)};
    for (const double mass : s.mass) {
      by_type_.push_back(mass * scale_.of_square);
      by_type_.push_back(mass * scale_.of_first);
    }
  }
  const std::vector<double>& by_type() const { return by_type_; }
  const MomentScale& scale() const { return scale_; }

 private:
  MomentScale scale_;
  std::vector<double> by_type_;
};

// Adds a particle, if it is in the group, to the sums. units: those of all types.
MM_HD void add_moments(Moments& sums, std::uint32_t flag, const double* units, const auto& r,
                       const auto& v) {
  if (!(r.kind >> 16 & flag)) return;
  const double x = v.x, y = v.y, z = v.z;
  const double* of_type = units + 2 * (r.kind & 0xffffu);
  sums.add(0, fused(x, x, fused(y, y, z * z)) * of_type[0]);
  sums.add(1, x * of_type[1]);
  sums.add(2, y * of_type[1]);
  sums.add(3, z * of_type[1]);
}

// m v^2 of a particle in the units of all types.
MM_HD double square_of(const double* units, const auto& r, const auto& v) {
  const double x = v.x, y = v.y, z = v.z;
  return fused(x, x, fused(y, y, z * z)) * units[2 * (r.kind & 0xffffu)];
}

// Units of sums whose largest addend is that of the largest m v^2, per unit of square_of(): a power
// of two. It depends on the velocities alone, whatever the time step.
inline double finer_units(double largest_square) {
  if (!(largest_square > 0)) return 1;
  return std::ldexp(1.0, std::min(60 - std::ilogb(largest_square), 900));
}

// Adds m v_x^2, m v_y^2 and m v_z^2 of a particle to the first three sums, or m v_x v_y, m v_x v_z
// and m v_y v_z if they are mixed. finer: of finer_units().
MM_HD void add_products(Moments& sums, bool mixed, double finer, const double* units, const auto& r,
                        const auto& v) {
  const double x = v.x, y = v.y, z = v.z, of_type = units[2 * (r.kind & 0xffffu)] * finer;
  sums.add(0, x * (mixed ? y : x) * of_type);
  sums.add(1, (mixed ? x : y) * (mixed ? z : y) * of_type);
  sums.add(2, (mixed ? y : z) * z * of_type);
}

// What is added up: add_moments() of the particles with this flag, or add_products() of all of them
// if `finer` is not 0.
struct Addends {
  std::uint32_t flag = 0;
  bool mixed = false;
  double finer = 0;

  MM_HD void add(Moments& sums, const double* units, const auto& r, const auto& v) const {
    if (finer != 0)
      add_products(sums, mixed, finer, units, r, v);
    else
      add_moments(sums, flag, units, r, v);
  }
};

// Each component of v becomes scale v + shift, and `slope` times the former v is added.
struct VelocityMap {
  double scale[3] = {1, 1, 1}, shift[3] = {};
  FlowGradient<double> slope;
  MM_HD void scale_all(double by) { scale[0] = scale[1] = scale[2] = by; }
  MM_HD bool changes_something() const {
    bool changes = slope.any();
    for (int a = 0; a < 3; ++a) changes = changes || scale[a] != 1 || shift[a] != 0;
    return changes;
  }
  template <class Real>
  MM_HD void act_on(Real& x, Real& y, Real& z) const {
    const auto v = vector_of<double>(Vector<Real>{x, y, z});
    Vector<double> more = {shift[0], shift[1], shift[2]};
    slope.add_at(v, more);
    x = static_cast<Real>(fused(v.x, scale[0], more.x));
    y = static_cast<Real>(fused(v.y, scale[1], more.y));
    z = static_cast<Real>(fused(v.z, scale[2], more.z));
  }
};

// Half a step of SLLOD with a thermostat that multiplies velocities relative to the flow by
// `factor`: they also lose half a time step times the gradient of the flow times the velocity.
inline VelocityMap sllod_half_step(double factor, double time_step, const Shear& shear) {
  VelocityMap map;
  map.scale_all(factor);
  map.slope = flow_gradient<double>(shear).times(-0.5 * time_step);
  return map;
}

MM_HD void apply(const VelocityMap& map, std::uint32_t flag, const auto& r, auto& v) {
  if (!(r.kind >> 16 & flag)) return;
  map.act_on(v.x, v.y, v.z);
}

enum class ChangeState : int { kMade, kAtRest, kNotFinite };

// What a change does to velocities with these sums; temperature: the target. `drop` is increased by
// what the temperature loses. Made of IEEE operations with nothing to contract, like the forces.
MM_HD ChangeState make_map(const VelocityChange& change, const MomentScale& scale,
                           const Moments& sums, double target, double& drop, VelocityMap& map) {
  map = {};
  double scale_of_all = 1;
  if (change.kind == VelocityChange::kStop) {
    // v -> v - P / M along some axes lowers the sum of m v^2 by P^2 / M for each of them.
    const double before = scale.square(sums);
    double after = before;
    for (int a = 0; a < 3; ++a) {
      if (!(change.axes >> a & 1u)) continue;
      const double momentum = scale.momentum(sums, a);
      map.shift[a] = -momentum / change.mass;
      after = fused(map.shift[a], momentum, after);
    }
    if (change.keeps_energy && after > 0) scale_of_all = square_root(before / after);
    for (double& shift : map.shift) shift *= scale_of_all;
  } else {
    const double now = change.temperature_of_sum * scale.square(sums);
    if (now == 0) return ChangeState::kAtRest;
    // lambda^2 = 1 + rate (T0 / T - 1) (Berendsen), or lambda^2 = (T - rate (T - T0)) / T.
    double square = 1;  // of the scale
    if (change.kind == VelocityChange::kRelax)
      square = fused(change.rate, target / now - 1.0, 1.0);
    else if (abs_of(now - target) > change.window)
      square = fused(-change.rate, now - target, now) / now;
    scale_of_all = square_root(square);
    drop = fused(now, 1.0 - square, drop);
  }
  map.scale_all(scale_of_all);
  const double all = scale_of_all + map.shift[0] + map.shift[1] + map.shift[2];
  return all - all == 0 ? ChangeState::kMade : ChangeState::kNotFinite;
}

// The same; throws BadVelocityChange.
inline VelocityMap map_of(const VelocityChange& change, const MomentScale& scale,
                          const Moments& sums, double target, double& drop) {
  VelocityMap map;
  switch (make_map(change, scale, sums, target, drop, map)) {
    case ChangeState::kMade:
      break;
    case ChangeState::kAtRest:
      throw BadVelocityChange(
          "the temperature of a thermostat's particles is 0, or too low for the time step");
    case ChangeState::kNotFinite:
      throw BadVelocityChange(
          text_of("a velocity change has the factor ", map.scale[0], ", which is not finite"));
  }
  return map;
}

}  // namespace manymove::dpd
