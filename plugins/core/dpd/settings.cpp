// SPDX-License-Identifier: BSD-3-Clause
#include "settings.h"

#include <algorithm>
#include <cmath>

#include "../parallel/communicator.h"
#include "../runtime/text.h"
#include "engine_base.h"

namespace manymove::dpd {
namespace {

template <class P>
constexpr double units = sizeof(typename P::Unsigned) == 4 ? 0x1p32 : 0x1p64;

}  // namespace

void widths_of(const Box& box, double width[3]) {
  const double* e = box.extent;
  const double xy = box.tilt[0], xz = box.tilt[1], yz = box.tilt[2];
  // The volume over the area of each face.
  width[0] =
      e[0] * e[1] * e[2] / std::hypot(e[1] * e[2], std::hypot(xy * e[2], xy * yz - xz * e[1]));
  width[1] = e[1] * e[2] / std::hypot(e[2], yz);
  width[2] = e[2];
}

namespace {

// The engine's velocities are relative to the flow; forces that depend on the velocity itself are
// therefore refused.
void check_shear(const Settings& s) {
  Box tilted = s.box;
  const double of_step = s.shear.rate * s.box.extent[1] * s.time_step;
  tilted.tilt[0] = 0.5 * s.box.extent[0] + std::fabs(of_step);
  double width[3];
  widths_of(tilted, width);
  if (!std::isfinite(s.shear.rate)) refuse("the rate of shear is not finite");
  if (!s.box.periodic[0] || !s.box.periodic[1] || s.box.tilt[1] != 0 || s.box.tilt[2] != 0)
    refuse("shear needs a box that is periodic along x and y and not tilted along z");
  if (width[0] < 2 * s.cutoff)
    refuse("the box under shear is ", width[0],
           " wide along x, less than twice the largest cutoff ", s.cutoff);
  if (std::fabs(of_step) > 0.1 * s.box.extent[0] ||
      std::fabs(s.shear.rate) * s.time_step * (s.cutoff + s.skin) > 0.1 * s.skin)
    refuse("the rate of shear ", s.shear.rate, " is too high for the time step and the skin");
  if (!s.walls.empty() || !s.baths.empty() || s.speed_limit.speed > 0 ||
      !s.velocity_changes.empty() || has_bonded_terms(s) ||
      std::any_of(s.body_forces.begin(), s.body_forces.end(),
                  [](const BodyForce& body) { return body.in_block; }))
    refuse(
        "shear cannot be combined with walls, Langevin thermostats, limits of speeds, changes of "
        "velocities, FENE bonds, angles or body forces in a block");
}

}  // namespace

void check_settings(const Settings& s) {
  const auto positive = [](double value, const char* name) {
    if (!(value > 0) || !std::isfinite(value)) refuse(name, " must be positive, not ", value);
  };
  double width[3];
  widths_of(s.box, width);
  positive(s.cutoff, "cutoff");
  if (!(s.skin >= 0) || !std::isfinite(s.skin))
    refuse("skin must not be negative, but is ", s.skin);
  positive(s.time_step, "time step");
  positive(s.force_to_acceleration, "acceleration per force");
  for (int a = 0; a < 3; ++a) {
    positive(s.box.extent[a], "box extent");
    if (!std::isfinite(s.box.low[a]) || !std::isfinite(s.box.tilt[a]))
      refuse("the box is not finite");
    if (s.box.periodic[a] && width[a] < 2 * s.cutoff)
      refuse("the periodic box is ", width[a], " wide along ", "xyz"[a],
             ", less than twice the largest cutoff ", s.cutoff);
  }
  if (s.pairs.types < 1 || s.pairs.types > 0xffff)
    refuse("from 1 to 65535 types, not ", s.pairs.types);
  const auto types = static_cast<std::size_t>(s.pairs.types);
  if (s.mass.size() != types + 1) refuse("masses of ", s.mass.size() - 1, " types for ", types);
  for (std::size_t i = 1; i <= types; ++i) {
    positive(s.mass[i], "mass");
    for (std::size_t j = 1; j <= types; ++j) {
      const PairCoefficients& c = s.pairs.coefficients[i * (types + 1) + j];
      if (!std::isfinite(c.a) || !(c.gamma >= 0) || !(c.sigma >= 0) || !(c.inverse_cutoff > 0) ||
          !(c.weight_exponent >= 0) || 1 / c.inverse_cutoff > s.cutoff * (1 + 1e-12))
        refuse("coefficients of types ", i, " and ", j, " are out of range");
      if (!(c.transverse_gamma >= 0) || !(c.transverse_sigma >= 0) || !(c.transverse_exponent >= 0))
        refuse("transverse coefficients of types ", i, " and ", j, " are out of range");
      if (s.pairs.many_body.cutoff * c.inverse_cutoff > 1 + 1e-12)
        refuse("the cutoff of densities ", s.pairs.many_body.cutoff,
               " is larger than the cutoff of types ", i, " and ", j);
    }
  }
  const ManyBodyCoefficients& many = s.pairs.many_body;
  if (!std::isfinite(many.b) || !(many.cutoff >= 0) || !std::isfinite(many.cutoff))
    refuse("coefficients of many-body forces are out of range");
  if (s.pairs.transverse && s.pairs.has_densities())
    refuse("many-body forces cannot be combined with transverse forces");
  if (!(s.pairs.ramp.first >= 0) || !(s.pairs.ramp.last >= 0) ||
      s.pairs.ramp.end < s.pairs.ramp.begin)
    refuse("the temperatures of pairs are out of range");
  if (s.shear.rate != 0) check_shear(s);
  if (const NoseHoover& chain = s.thermostat; chain.chain != 0) {
    if (s.shear.rate == 0) refuse("a Nose-Hoover thermostat needs shear");
    if (chain.chain < 0)
      refuse("the length of the thermostat chain must not be negative, got ", chain.chain);
    positive(chain.damping_time, "damping time");
    positive(chain.temperature, "temperature of the thermostat");
    positive(chain.boltzmann, "Boltzmann constant");
    positive(chain.degrees_of_freedom, "number of degrees of freedom");
    positive(chain.temperature_of_sum, "temperature of a sum of m v^2");
  }
  if (!is_transport(s.transport)) refuse("no transport ", s.transport);
  const bool upright = s.box.tilt[0] == 0 && s.box.tilt[1] == 0 && s.box.tilt[2] == 0;
  if (s.walls.size() > kMostWalls) refuse("more than ", kMostWalls, " walls");
  if (s.body_forces.size() > kMostBodyForces) refuse("more than ", kMostBodyForces, " body forces");
  for (const Wall& wall : s.walls) {
    if (!upright || s.box.periodic[wall.axis])
      refuse("a wall needs an upright box that is not periodic across it");
    if (!(wall.position >= s.box.low[wall.axis]) ||
        !(wall.position <= s.box.low[wall.axis] + s.box.extent[wall.axis]))
      refuse("the wall at ", wall.position, " along ", "xyz"[wall.axis], " is outside the box");
  }
  if (!(s.speed_limit.speed >= 0)) refuse("the limit of speeds is ", s.speed_limit.speed);
  for (std::size_t k = 1; k < s.bonds.size(); ++k) {
    const BondCoefficients& bond = s.bonds[k];
    if (!std::isfinite(bond.stiffness) || !std::isfinite(bond.length) ||
        !std::isfinite(bond.epsilon) || !std::isfinite(bond.sigma) ||
        (bond.form == kFene && !(bond.length > 0)))
      refuse("coefficients of bond type ", k, " are out of range");
  }
  for (std::size_t k = 1; k < s.angles.size(); ++k)
    if (!std::isfinite(s.angles[k].stiffness) || !std::isfinite(s.angles[k].angle))
      refuse("coefficients of angle type ", k, " are out of range");
  if (s.baths.size() > kMostBaths) refuse("more than ", kMostBaths, " Langevin thermostats");
  for (const Bath& bath : s.baths) {
    if (bath.friction.size() != types + 1 || bath.noise.size() != types + 1)
      refuse("coefficients of a Langevin thermostat for ", bath.friction.size() - 1, " types");
    for (std::size_t i = 1; i <= types; ++i)
      if (!std::isfinite(bath.friction[i]) || !std::isfinite(bath.noise[i]))
        refuse("coefficients of a Langevin thermostat are not finite");
    if (!(bath.temperature >= 0) || !std::isfinite(bath.temperature))
      refuse("the temperature of a Langevin thermostat is ", bath.temperature);
  }
  for (const VelocityChange& change : s.velocity_changes)
    if (change.every < 1 || (change.kind == VelocityChange::kStop && !(change.mass > 0)))
      refuse("a change of velocities is every ", change.every, " steps, or of no mass");
  for (const BodyForce& body : s.body_forces) {
    if (body.in_block && !upright) refuse("a body force in a block needs an upright box");
  }
}

Cells cells_of(const Settings& s, double count, const Brick* here) {
  Cells cells{};
  const double reach = s.cutoff + s.skin;
  double width[3];
  widths_of(s.box, width);
  for (int a = 0; a < 3; ++a) {
    const double frame = s.box.periodic[a] ? width[a] : 2 * width[a];
    cells.count[a] = static_cast<int>(std::clamp(frame / (reach * (1 + 1e-6)), 1.0, 1024.0));
  }
  const auto total = [&] {
    return static_cast<double>(cells.count[0]) * cells.count[1] * cells.count[2];
  };
  while (total() > 8.0 * count + 4096) {
    int& most = *std::max_element(cells.count, cells.count + 3);
    most = (most + 1) / 2;
  }
  cells.narrow = *std::min_element(cells.count, cells.count + 3) < 4;
  for (int a = 0; a < 3; ++a) {
    cells.first[a] = 0;
    cells.here[a] = cells.count[a];
    if (!here || here->beyond[a] == 0xffffffffu) continue;
    const auto along = static_cast<std::uint32_t>(cells.count[a]);
    const int first = static_cast<int>(bin_of(here->low[a], along)),
              last = static_cast<int>(bin_of(here->low[a] + here->beyond[a], along)),
              number = (last - first + cells.count[a]) % cells.count[a] + 1;
    // Where the last one is the first again, they are all.
    if (number == cells.count[a] || (first == last && here->beyond[a] >> 31)) continue;
    cells.first[a] = first;
    cells.here[a] = number;
  }
  const int most = *std::max_element(cells.here, cells.here + 3);
  int bits = 0;
  while (most > 1 << bits) ++bits;
  // Sorting goes by bytes.
  cells.fine = bits <= 8 ? std::min(2, 8 - bits) : 0;
  cells.bits = bits + cells.fine;
  const Frame<Mixed> frame = frame_of<Mixed>(s.box);
  cells.xx = frame.xx;
  cells.yy = frame.yy;
  cells.zz = frame.zz;
  cells.xy = frame.xy;
  cells.xz = frame.xz;
  cells.yz = frame.yz;
  cells.to_x = frame.to_x;
  cells.to_y = frame.to_y;
  cells.to_z = frame.to_z;
  cells.to_xy = frame.to_xy;
  cells.to_xz = frame.to_xz;
  cells.to_yz = frame.to_yz;
  lengthen_reach(cells, s, 0);
  // Farther apart than half a width of a tilted box, two places may have nearer images than those
  // that differ least in fractions: there, all pairs of the cells around come into lists.
  for (int a = 0; a < 3; ++a)
    if (frame.tilted && s.box.periodic[a] && width[a] < 2 * reach * (1 + 1e-4))
      cells.cutoff = 1e15f;
  cells.largest_radius = largest_radius_of(s, 0);
  look_ahead(cells, 0, 0);
  return cells;
}

void lengthen_reach(Cells& cells, const Settings& s, double share) {
  if (cells.cutoff < 1e14f)
    cells.cutoff = static_cast<float>((s.cutoff + share * s.skin) * (1 + 3e-5));
}

float largest_radius_of(const Settings& s, double left_out) {
  return static_cast<float>(0.5 * s.skin * (1 - 1e-5)) * static_cast<float>(1 - left_out);
}

void look_ahead(Cells& cells, double time_step, std::int64_t steps) {
  const bool known = steps > 0;
  cells.rest_radius = (known ? 0.45f : 1.0f) * cells.largest_radius;
  cells.farthest_ahead = (known ? kFarthestAhead : 0.0f) * cells.largest_radius;
  cells.time_ahead = static_cast<float>(0.5 * time_step * static_cast<double>(steps));
}

namespace {

Shorts shorts_within(const Settings& s, double cutoff) {
  Shorts shorts;
  const Frame<Mixed> frame = frame_of<Mixed>(s.box);
  double width[3], part[3];
  widths_of(s.box, width);
  for (int a = 0; a < 3; ++a) {
    double length = s.box.periodic[a] ? width[a] : 2 * width[a];
    shorts.shift[a] = 0;
    while (shorts.shift[a] < 15 && length > 8 * (s.cutoff + s.skin)) {
      length /= 2;
      ++shorts.shift[a];
    }
    part[a] = std::ldexp(1.0, -shorts.shift[a]);
  }
  shorts.xx = static_cast<float>(frame.xx * part[0]);
  shorts.yy = static_cast<float>(frame.yy * part[1]);
  shorts.zz = static_cast<float>(frame.zz * part[2]);
  shorts.xy = static_cast<float>(frame.xy * part[1]);
  shorts.xz = static_cast<float>(frame.xz * part[2]);
  shorts.yz = static_cast<float>(frame.yz * part[2]);
  shorts.tilted = frame.tilted;
  const auto unit = [](float length) { return 2 * 65536.0 * std::fabs(length); };
  const double margin = std::hypot(unit(shorts.xx) + unit(shorts.xy) + unit(shorts.xz),
                                   unit(shorts.yy) + unit(shorts.yz), unit(shorts.zz));
  const double reach = (cutoff + margin) * (1 + 1e-5);
  // In units of zz.
  const double unit_length = shorts.zz;
  for (float* length : {&shorts.xx, &shorts.yy, &shorts.xy, &shorts.xz, &shorts.yz})
    *length = static_cast<float>(*length / unit_length);
  shorts.cutoff_squared = static_cast<float>(reach / unit_length * (reach / unit_length));
  return shorts;
}

}  // namespace

Shorts shorts_of(const Settings& s) { return shorts_within(s, s.cutoff); }
Shorts shorts_of_densities(const Settings& s) { return shorts_within(s, s.pairs.many_body.cutoff); }

int lanes_of(int count) { return count < 50'000 ? 4 : count < 400'000 ? 2 : 1; }

int expected_entries(const Settings& s, double particles) {
  const double volume = s.box.extent[0] * s.box.extent[1] * s.box.extent[2];
  const double reach = s.cutoff + s.skin;
  const double expected = 4.18879 * reach * reach * reach * particles / volume;
  return static_cast<int>(std::min(1.4 * expected + 16, particles + kGroup));
}

unsigned excluded_kinds(const PairTable& table) {
  unsigned excluded = 0;
  for (unsigned k = 1; k < 4; ++k)
    if (table.special[k] == 0) excluded |= 1u << k;
  return excluded;
}

template <class P>
Frame<P> frame_of(const Box& box) {
  using Real = typename P::Real;
  const auto span = [&](int a) { return (box.periodic[a] ? 1.0 : 2.0) / units<P>; };
  const double xx = box.extent[0] * span(0), yy = box.extent[1] * span(1),
               zz = box.extent[2] * span(2), xy = box.tilt[0] * span(1), xz = box.tilt[1] * span(2),
               yz = box.tilt[2] * span(2);
  Frame<P> frame;
  frame.xx = static_cast<Real>(xx);
  frame.yy = static_cast<Real>(yy);
  frame.zz = static_cast<Real>(zz);
  frame.xy = static_cast<Real>(xy);
  frame.xz = static_cast<Real>(xz);
  frame.yz = static_cast<Real>(yz);
  frame.to_x = static_cast<Real>(1 / xx);
  frame.to_y = static_cast<Real>(1 / yy);
  frame.to_z = static_cast<Real>(1 / zz);
  frame.to_xy = static_cast<Real>(-xy / (xx * yy));
  frame.to_yz = static_cast<Real>(-yz / (yy * zz));
  frame.to_xz = static_cast<Real>((xy * yz - xz * yy) / (xx * yy * zz));
  frame.open =
      (box.periodic[0] ? 0u : 1u) | (box.periodic[1] ? 0u : 2u) | (box.periodic[2] ? 0u : 4u);
  frame.tilted = xy != 0 || xz != 0 || yz != 0;
  return frame;
}

template <class P>
std::vector<PairLaw<typename P::Real>> laws_of(const PairTable& table) {
  using Real = typename P::Real;
  const auto size = static_cast<std::size_t>(table.types + 1);
  std::vector<PairLaw<Real>> laws(size * size);
  for (std::size_t i = 1; i < size; ++i) {
    for (std::size_t j = 1; j < size; ++j) {
      const PairCoefficients& c = table.coefficients[i * size + j];
      laws[i * size + j] = {static_cast<Real>(c.a), static_cast<Real>(c.gamma),
                            static_cast<Real>(c.sigma), static_cast<Real>(c.inverse_cutoff),
                            static_cast<Real>(c.weight_exponent)};
    }
  }
  return laws;
}

template <class P>
std::vector<TransverseLaw<typename P::Real>> laws_across_of(const PairTable& table) {
  using Real = typename P::Real;
  const auto size = static_cast<std::size_t>(table.types + 1);
  std::vector<TransverseLaw<Real>> laws(table.transverse ? size * size : 0);
  for (std::size_t i = 1; table.transverse && i < size; ++i)
    for (std::size_t j = 1; j < size; ++j) {
      const PairCoefficients& c = table.coefficients[i * size + j];
      laws[i * size + j] = {static_cast<Real>(c.transverse_gamma),
                            static_cast<Real>(c.transverse_sigma),
                            static_cast<Real>(c.transverse_exponent)};
    }
  return laws;
}

namespace {

bool general_exponent(const PairTable& table) {
  for (int i = 1; i <= table.types; ++i)
    for (int j = 1; j <= table.types; ++j) {
      const PairCoefficients& c = table.coefficients[i * (table.types + 1) + j];
      if (c.weight_exponent != 1 || (table.transverse && c.transverse_exponent != 1)) return true;
    }
  return false;
}

}  // namespace

double force_unit(const Settings& s) {
  double strongest = 0;
  for (int i = 1; i <= s.pairs.types; ++i)
    for (int j = 1; j <= s.pairs.types; ++j) {
      const PairCoefficients& c = s.pairs.coefficients[i * (s.pairs.types + 1) + j];
      // Friction where there is hardly anything else, at a millionth of a cutoff in a step.
      const double friction = std::max(c.gamma, c.transverse_gamma) * s.cutoff / s.time_step * 1e-6;
      const double noise = std::max(c.sigma, c.transverse_sigma);
      strongest = std::max({strongest, std::fabs(c.a) + 7 * noise, friction});
    }
  // The largest many-body force: that of two particles at the same position.
  if (s.pairs.has_densities())
    strongest = std::max(
        strongest, 2 * std::fabs(s.pairs.many_body.b) * density_scale(s.pairs.many_body.cutoff));
  return strongest > 0 ? std::ldexp(1.0, std::ilogb(strongest) + 1 - 23) : 1;
}

bool is_plain(const Settings& s, bool has_special, bool in_any_box) {
  return s.pairs.types == 1 && !general_exponent(s.pairs) && !has_special &&
         s.pairs.ramp.is_constant() &&
         (in_any_box || (s.shear.rate == 0 && !frame_of<Mixed>(s.box).tilted)) &&
         !(s.speed_limit.speed > 0) && s.baths.empty();
}

template <class P>
Forces<P> forces_of(const Settings& s, const PairLaw<typename P::Real>* laws,
                    const TransverseLaw<typename P::Real>* laws_across) {
  using Real = typename P::Real;
  Forces<P> forces{};
  forces.frame = frame_of<P>(s.box);
  forces.cutoff_squared = static_cast<Real>(s.cutoff * s.cutoff);
  forces.types = s.pairs.types;
  forces.law = laws_of<P>(s.pairs).back();
  forces.laws = laws;
  forces.noise_scale = 1;
  forces.shear = static_cast<Real>(s.shear.rate);
  if (s.pairs.transverse) {
    forces.across = laws_across_of<P>(s.pairs).back();
    forces.law_beyond = beyond_transverse(forces.law, forces.across);
  }
  forces.laws_across = laws_across;
  forces.general_exponent = general_exponent(s.pairs);
  if (s.pairs.has_densities()) forces.many_body = many_body_of<Real>(s.pairs.many_body);
  for (int k = 0; k < 4; ++k) {
    forces.special.factor[k] = static_cast<Real>(s.pairs.special[k]);
    forces.special.root[k] = square_root(static_cast<Real>(s.pairs.special[k]));
  }
  return forces;
}

template <class P>
std::vector<typename P::Real> half_kicks_of(const Settings& s) {
  std::vector<typename P::Real> kicks(s.mass.size());
  for (std::size_t i = 1; i < kicks.size(); ++i)
    kicks[i] =
        static_cast<typename P::Real>(0.5 * s.time_step * s.force_to_acceleration / s.mass[i]);
  return kicks;
}

template <class P>
std::vector<typename P::Real> bath_coefficients_of(const Settings& s) {
  std::vector<typename P::Real> values;
  for (const Bath& bath : s.baths)
    for (const auto* coefficients : {&bath.friction, &bath.noise})
      for (const double value : *coefficients)
        values.push_back(static_cast<typename P::Real>(value));
  return values;
}

template <class P>
Motion<P> motion_of(const Settings& s, const typename P::Real* half_kicks,
                    const typename P::Real* baths) {
  using Real = typename P::Real;
  Motion<P> motion{};
  motion.frame = frame_of<P>(s.box);
  motion.time_step = static_cast<Real>(s.time_step);
  motion.half_kick = half_kicks_of<P>(s).back();
  motion.half_kicks = s.pairs.types > 1 ? half_kicks : nullptr;
  motion.too_far = static_cast<Real>(units<P> / 4);
  const BoxFrame box{s.box};
  // Along one axis of an upright box.
  const auto place = [&](int axis, double position) {
    double r[3] = {s.box.low[0], s.box.low[1], s.box.low[2]};
    const double low = s.box.low[axis], high = low + s.box.extent[axis];
    r[axis] = std::clamp(position, low, high);
    typename P::Position p{};
    int image[3] = {};
    enter_frame<P>(box, r, p, image);
    // The far face of a periodic box wraps: it is the last integer.
    if (image[axis] != 0) return static_cast<typename P::Unsigned>(~typename P::Unsigned(0));
    return axis == 0 ? p.x : axis == 1 ? p.y : p.z;
  };
  for (const Wall& wall : s.walls)
    motion.wall[motion.walls++] = {place(wall.axis, wall.position), wall.axis, wall.high,
                                   wall.flag};
  for (const Bath& bath : s.baths) {
    const Real* const friction =
        baths + 2 * bath.friction.size() * static_cast<std::size_t>(motion.baths);
    motion.bath[motion.baths++] = {friction, friction + bath.friction.size(),
                                   square_root(static_cast<Real>(bath.temperature)), bath.seed,
                                   bath.flag};
  }
  motion.limited = s.speed_limit.speed > 0 ? s.speed_limit.flag : 0;
  motion.limit_squared = static_cast<Real>(s.speed_limit.speed * s.speed_limit.speed);
  for (const BodyForce& force : s.body_forces) {
    auto& body = motion.body[motion.body_forces++];
    body.x = static_cast<Real>(force.force[0]);
    body.y = static_cast<Real>(force.force[1]);
    body.z = static_cast<Real>(force.force[2]);
    body.replaced = static_cast<std::uint8_t>(force.replaced);
    body.everywhere = !force.in_block;
    body.flag = force.flag;
    for (int a = 0; force.in_block && a < 3; ++a) {
      // A block that ends before or beyond the box: no place at all, or all.
      const double low = s.box.low[a], high = low + s.box.extent[a];
      if (force.high[a] < low || force.low[a] > high || force.low[a] > force.high[a]) {
        body.low[a] = ~typename P::Unsigned(0);
        body.high[a] = 0;
      } else {
        // Particles at faces that are not periodic may be a little outside.
        body.low[a] = force.low[a] <= low ? 0 : place(a, force.low[a]);
        body.high[a] = force.high[a] >= high ? ~typename P::Unsigned(0) : place(a, force.high[a]);
      }
    }
  }
  return motion;
}

template <class P>
std::vector<BondLaw<typename P::Real>> bond_laws_of(const Settings& s) {
  using Real = typename P::Real;
  std::vector<BondLaw<Real>> laws;
  for (const BondCoefficients& bond : s.bonds)
    laws.push_back({static_cast<Real>(2 * bond.stiffness), static_cast<Real>(bond.length)});
  return laws;
}

bool has_bonded_terms(const Settings& s) {
  return !s.angles.empty() ||
         std::any_of(s.bonds.begin(), s.bonds.end(),
                     [](const BondCoefficients& bond) { return bond.form != kHarmonic; });
}

std::vector<BondedLaw> bonded_laws_of(const std::vector<BondCoefficients>& bonds) {
  std::vector<BondedLaw> laws;
  for (const BondCoefficients& b : bonds)
    laws.push_back({b.form, b.stiffness, b.form == kFene ? b.length * b.length : b.length,
                    b.epsilon, b.sigma * b.sigma});
  return laws;
}

std::vector<BondedLaw> bonded_laws_of(const std::vector<AngleCoefficients>& angles) {
  std::vector<BondedLaw> laws;
  for (const AngleCoefficients& a : angles) laws.push_back({a.form, a.stiffness, a.angle, 0, 0});
  return laws;
}

template <class P>
BondedTerms bonded_terms_of(const Box& box, const BondedLaw* bonds, const BondedLaw* angles) {
  const Frame<Double> frame = frame_of<Double>(box);
  const double scale = units<Double> / units<P>;  // a power of two
  return {frame.xx * scale,
          frame.yy * scale,
          frame.zz * scale,
          frame.xy * scale,
          frame.xz * scale,
          frame.yz * scale,
          frame.tilted != 0,
          bonds,
          angles};
}

#define MANYMOVE_INSTANTIATE(P)                                                     \
  template Frame<P> frame_of<P>(const Box&);                                        \
  template std::vector<PairLaw<P::Real>> laws_of<P>(const PairTable&);              \
  template std::vector<TransverseLaw<P::Real>> laws_across_of<P>(const PairTable&); \
  template Forces<P> forces_of<P>(const Settings&, const PairLaw<P::Real>*,         \
                                  const TransverseLaw<P::Real>*);                   \
  template std::vector<P::Real> half_kicks_of<P>(const Settings&);                  \
  template std::vector<P::Real> bath_coefficients_of<P>(const Settings&);           \
  template Motion<P> motion_of<P>(const Settings&, const P::Real*, const P::Real*); \
  template std::vector<BondLaw<P::Real>> bond_laws_of<P>(const Settings&);          \
  template BondedTerms bonded_terms_of<P>(const Box&, const BondedLaw*, const BondedLaw*);
MANYMOVE_INSTANTIATE(Mixed)
MANYMOVE_INSTANTIATE(Double)
#undef MANYMOVE_INSTANTIATE

// ---- several ranks ----

namespace {

BrickDecomposition bricks_of(const Settings& settings, Communicator& communicator, double ahead) {
  std::vector<double> cut[3];
  double width[3], reach[3];
  widths_of(settings.box, width);
  for (int a = 0; a < 3; ++a) {
    const bool periodic = settings.box.periodic[a];
    for (const double fraction : settings.grid.cut[a])
      cut[a].push_back(periodic ? fraction : 0.25 + 0.5 * fraction);
    // Longer by more than the rounding of positions, and than lists reach (Cells::cutoff).
    const double frame = periodic ? width[a] : 2 * width[a];
    reach[a] = (settings.cutoff + settings.skin + ahead) * (1 + 2e-5) / frame;
  }
  return {communicator, cut, settings.grid.rank, reach};
}

}  // namespace

void Arrival::enter(const HostArrays& arrays) const {
  if (arrays.position) std::copy_n(position, 3, arrays.position[index]);
  if (arrays.velocity) std::copy_n(velocity, 3, arrays.velocity[index]);
  if (arrays.force) std::copy_n(force, 3, arrays.force[index]);
  if (arrays.image) std::copy_n(image, 3, arrays.image[index]);
}

Decomposition::Decomposition(const Settings& settings, Communicator& communicator, double ahead)
    : BrickDecomposition(bricks_of(settings, communicator, ahead)) {}

// ---- the choice of an engine by the name of the device ----

std::unique_ptr<Engine> make_engine(const Settings& settings, const std::string& device,
                                    int threads, Communicator* communicator) {
  check_settings(settings);
  if (communicator && communicator->ranks() == 1) communicator = nullptr;
  if (device == "cpu") return make_cpu_engine(settings, threads, communicator);
#if defined(MANYMOVE_HAVE_CUDA)
  if (device.starts_with("cuda")) {
    const auto make =
        settings.pairs.double_precision ? &make_cuda_engine<Double> : &make_cuda_engine<Mixed>;
    return make(settings, device.size() > 5 ? std::stoi(device.substr(5)) : -1, communicator);
  }
#endif
  refuse("no engine for device ", device);
}

}  // namespace manymove::dpd
