// SPDX-License-Identifier: BSD-3-Clause
// Coefficients, the frame, walls and forces in the numbers that a step works on, as settings.h
// declares them.
#include <algorithm>
#include <cmath>
#include <map>

#include "settings.h"

namespace manymove::dpd {
namespace {

template <Precision P>
constexpr double units = sizeof(typename P::Unsigned) == 4 ? 0x1p32 : 0x1p64;

// Calls visit(k, c) with each pair of types and its index in tables of coefficients.
void for_each_pair_of_types(const PairTable& table, const auto& visit) {
  const auto size = static_cast<std::size_t>(table.types + 1);
  for (std::size_t i = 1; i < size; ++i)
    for (std::size_t k = i * size + 1; k < (i + 1) * size; ++k) visit(k, table.coefficients[k]);
}

bool general_exponent(const PairTable& table) {
  bool general = false;
  for_each_pair_of_types(table, [&](std::size_t, const PairCoefficients& c) {
    general = general || c.weight_exponent != 1 || (table.transverse && c.transverse_exponent != 1);
  });
  return general;
}

// The median of the forces of a table that are not 0. The largest ones, at the shortest distances,
// may exceed all others by far.
double usual_force(const ForceTable& table) {
  std::vector<double> forces;
  for (std::size_t k = 0; k < table.node.size(); ++k) {
    const double squared = table.low + static_cast<double>(k) * table.spacing;
    const double force = std::fabs(table.node[k].force) * std::sqrt(std::max(squared, 0.0));
    if (force > 0) forces.push_back(force);
  }
  if (forces.empty()) return 0;
  const auto middle = forces.begin() + static_cast<std::ptrdiff_t>(forces.size() / 2);
  std::ranges::nth_element(forces, middle);
  return *middle;
}

// A force of a potential that few pairs exceed by far: that of particles at 0.9 sigma of
// kLennardJones and kMorse (where e^-x is that of the distance), the largest one of kSoft.
double strong_force(const PairPotential& p) {
  if (p.form == kNoPotential) return 0;
  if (p.form == kTabulated) return usual_force(*p.table);
  const double r = p.form == kSoft ? 0.5 * p.cutoff : 0.9 * p.length;
  PotentialLaw<double> law = potential_of<double>(p, 1);
  law.cutoff_squared = 2 * r * r;
  PairForce<double> force{0, 0};
  add_potential(law, nullptr, r * r, 1.0, force);
  return std::fabs(force.over_distance) * r;
}

// Index of the first node of a table in the nodes of all tables. A table that several laws share is
// appended once.
int place_of(const std::shared_ptr<const ForceTable>& table, std::vector<TableNode>& nodes,
             std::map<const ForceTable*, int>& places) {
  const auto [found, is_new] = places.try_emplace(table.get(), static_cast<int>(nodes.size()));
  if (is_new) nodes.insert(nodes.end(), table->node.begin(), table->node.end());
  return found->second;
}

BondedLaw law_of_bond(const BondCoefficients& b) {
  // FENE bonds need the squares of their lengths only, because E and the force over distance are
  // functions of (r / R0)^2 and (sigma / r)^2.
  BondedLaw law{b.form, b.stiffness, b.form == kFene ? b.length * b.length : b.length, b.epsilon,
                b.sigma * b.sigma};
  if (b.form != kTabulatedBond) return law;
  law.rest = b.table->low;
  law.node = {0, static_cast<int>(b.table->node.size()) - 1};
  law.nodes_per_length = 1 / b.table->spacing;
  return law;
}

}  // namespace

unsigned excluded_kinds(const PairTable& table) {
  unsigned excluded = 0;
  for (unsigned k = 1; k < 4; ++k)
    if (table.special[k] == 0) excluded |= 1u << k;
  return excluded;
}

template <Precision P>
CoordinateFrame<P> frame_of(const Box& box) {
  using Real = typename P::Real;
  const auto real = [](double a) { return static_cast<Real>(a); };
  const auto span = [&](int a) { return (box.periodic[a] ? 1.0 : 2.0) / units<P>; };
  // Columns of L are the edges a = (xx, 0, 0), b = (xy, yy, 0), c = (xz, yz, zz), over their units.
  const double xx = box.extent[0] * span(0), yy = box.extent[1] * span(1),
               zz = box.extent[2] * span(2), xy = box.tilt[0] * span(1), xz = box.tilt[1] * span(2),
               yz = box.tilt[2] * span(2);
  CoordinateFrame<P> frame;
  // r = L u with the integers u and the upper triangular matrix L, and u = L^-1 r: the diagonal of
  // the inverse is that of the reciprocals, and above it are (L^-1)_xy = -L_xy / (L_xx L_yy) and
  // so on.
  frame.edges = {real(xx), real(yy), real(zz), real(xy), real(xz), real(yz)};
  frame.to = {real(1 / xx),
              real(1 / yy),
              real(1 / zz),
              real(-xy / (xx * yy)),
              real((xy * yz - xz * yy) / (xx * yy * zz)),
              real(-yz / (yy * zz))};
  frame.open =
      (box.periodic[0] ? 0u : 1u) | (box.periodic[1] ? 0u : 2u) | (box.periodic[2] ? 0u : 4u);
  frame.tilted = xy != 0 || xz != 0 || yz != 0;
  return frame;
}

double force_unit(const Settings& s) {
  double strongest = 0;
  for_each_pair_of_types(s.pairs, [&](std::size_t, const PairCoefficients& c) {
    // Friction where there is hardly anything else, at a millionth of a cutoff in a step.
    const double friction = std::max(c.gamma, c.transverse_gamma) * s.cutoff / s.time_step * 1e-6;
    // |xi| <= sqrt(2 ln 2^31) = 6.6 for the 31 bits of which the normal variable is made.
    const double scale = s.pairs.scalars == kTemperature ? std::sqrt(2 * c.gamma) : 1;  // at T = 1
    const double noise = std::max(scale * c.sigma, c.transverse_sigma);
    strongest = std::max({strongest, std::fabs(c.a) + 7 * noise, friction});
    strongest = std::max(strongest, strong_force(c.potential));
  });
  // The largest many-body force: that of two particles at the same position.
  if (s.pairs.has_densities())
    strongest = std::max(
        strongest, 2 * std::fabs(s.pairs.many_body.b) * density_scale(s.pairs.many_body.cutoff));
  // The power of two of which the strongest force has between 2^22 and 2^23.
  return strongest > 0 ? std::ldexp(1.0, std::ilogb(strongest) + 1 - 23) : 1;
}

bool is_plain(const Settings& s, bool has_special, Extra extra) {
  bool lennard_jones = extra == Extra::potential;
  for_each_pair_of_types(s.pairs, [&](std::size_t, const PairCoefficients& c) {
    lennard_jones = lennard_jones && c.potential.form == kLennardJones;
  });
  return s.pairs.types == 1 && !general_exponent(s.pairs) && !has_special &&
         s.pairs.ramp.is_constant() && (lennard_jones || !s.pairs.has_potentials()) &&
         !s.pairs.scalars &&
         (extra == Extra::shear || (s.shear.rate == 0 && !frame_of<Mixed>(s.box).tilted)) &&
         !(s.speed_limit.speed > 0) && s.langevin_thermostats.empty();
}

template <Precision P>
Laws<P> laws_of(const Settings& s, double unit) {
  using Real = typename P::Real;
  const auto real = [](double a) { return static_cast<Real>(a); };
  const auto in_units = [&](double a) { return real(real(a) / unit); };
  // With kTemperature, the random force is sigma times a root of gamma, which has a unit, too.
  const double unit_of_sigma = s.pairs.scalars == kTemperature ? std::sqrt(unit) : unit;
  const auto size = static_cast<std::size_t>(s.pairs.types + 1);
  Laws<P> laws;
  laws.pairs.resize(size * size);
  laws.across.resize(s.pairs.transverse ? size * size : 0);
  laws.potentials.resize(s.pairs.has_potentials() ? size * size : 0);
  laws.scalars.resize(s.pairs.scalars ? size * size : 0);
  std::map<const ForceTable*, int> places;
  for_each_pair_of_types(s.pairs, [&](std::size_t k, const PairCoefficients& c) {
    // In mixed precision forces come in units of `unit`, as the sums of integers need them.
    laws.pairs[k] = {in_units(c.a), in_units(c.gamma), real(real(c.sigma) / unit_of_sigma),
                     real(c.inverse_cutoff), real(c.weight_exponent)};
    if (!laws.potentials.empty()) {
      laws.potentials[k] = potential_of<Real>(c.potential, unit);
      if (c.potential.form == kTabulated) {
        const int first = place_of(c.potential.table, laws.nodes, places);
        laws.potentials[k].first_node += first;
        laws.potentials[k].last_node += first;
      }
    }
    if (s.pairs.scalars) laws.scalars[k] = scalar_law_of<Real>(c.scalars, unit);
    if (s.pairs.transverse)
      laws.across[k] = {in_units(c.transverse_gamma), in_units(c.transverse_sigma),
                        real(c.transverse_exponent)};
  });
  // add_bond() takes 2 K and r0 of E = K (r - r0)^2.
  for (const BondCoefficients& b : s.bonds) {
    laws.harmonic.push_back({real(2 * b.stiffness), real(b.length)});
    laws.bonds.push_back(law_of_bond(b));
    if (b.form != kTabulatedBond) continue;
    const int first = place_of(b.table, laws.nodes, places);
    laws.bonds.back().node.first += first;
    laws.bonds.back().node.last += first;
  }
  for (const AngleCoefficients& a : s.angles)
    laws.angles.push_back({a.form, a.stiffness, a.angle, std::cos(a.angle), std::sin(a.angle)});
  for (const DihedralCoefficients& d : s.dihedrals) {
    laws.dihedrals.push_back({{d.constant}});
    std::copy_n(d.amplitude, kMostMultiplicity, laws.dihedrals.back().amplitude + 1);
  }
  for (const ImproperCoefficients& i : s.impropers)
    laws.impropers.push_back({0, i.stiffness, i.angle, 0, 0});
  Forces<P>& forces = laws.forces;
  forces.frame = frame_of<P>(s.box);
  forces.cutoff_squared = real(s.cutoff * s.cutoff);
  forces.types = s.pairs.types;
  forces.law = laws.pairs.back();
  forces.noise_scale = 1;
  forces.shear = flow_gradient<Real>(s.shear);
  if (s.pairs.transverse) {
    forces.across = laws.across.back();
    forces.law_beyond = beyond_transverse(forces.law, forces.across);
  }
  if constexpr (has_scalars<P>) forces.scalars.kind = s.pairs.scalars;
  forces.lennard_jones = std::ranges::all_of(laws.potentials, [](const auto& potential) {
    return potential.form == kNoPotential || potential.form == kLennardJones;
  });
  if (!laws.potentials.empty()) forces.potential = laws.potentials.back();
  forces.general_exponent = general_exponent(s.pairs);
  if (s.pairs.has_densities()) {
    forces.many_body = many_body_of<Real>(s.pairs.many_body);
    forces.many_body.b = real(forces.many_body.b / unit);
  }
  for (int k = 0; k < 4; ++k) {
    forces.special.factor[k] = real(s.pairs.special[k]);
    forces.special.root[k] = square_root(real(s.pairs.special[k]));
  }
  laws.unit = real(unit);
  laws.find_laws();
  return laws;
}

template <Precision P>
std::vector<typename P::Real> half_kicks_of(const Settings& s) {
  // dt / 2m of v += f dt / 2m, with the factor between force over mass and acceleration.
  std::vector<typename P::Real> kicks(s.mass.size());
  for (std::size_t i = 1; i < kicks.size(); ++i)
    kicks[i] =
        static_cast<typename P::Real>(0.5 * s.time_step * s.force_to_acceleration / s.mass[i]);
  return kicks;
}

template <Precision P>
std::vector<typename P::Real> thermostat_coefficients_of(const Settings& s) {
  std::vector<typename P::Real> values;
  for (const LangevinThermostat& thermostat : s.langevin_thermostats)
    for (const auto* coefficients : {&thermostat.friction, &thermostat.noise})
      for (const double value : *coefficients)
        values.push_back(static_cast<typename P::Real>(value));
  return values;
}

template <Precision P>
void place_surface(const Box& box, const double center[3], double radius,
                   SurfaceOfStep<P>& surface) {
  using Real = typename P::Real;
  typename P::Unsigned near[3];
  double offset[3] = {0, 0, 0};
  for (int a = 0; a < 3; ++a) {
    const double fraction = (center[a] - box.low[a]) / box.extent[a];
    const bool periodic = box.periodic[a];
    const double at =
        units<P> * (periodic ? fraction - std::floor(fraction) : fused(0.5, fraction, 0.25));
    near[a] = at >= units<P> ? ~typename P::Unsigned(0)
                             : static_cast<typename P::Unsigned>(std::max(at, 0.0));
    offset[a] = (at - static_cast<double>(near[a])) * (periodic ? 1 : 2) * box.extent[a] / units<P>;
  }
  surface.near_center.x = near[0];
  surface.near_center.y = near[1];
  surface.near_center.z = near[2];
  surface.offset = vector_from<Real>(offset);
  surface.radius = static_cast<Real>(radius);
}

template <Precision P>
Motion<P> motion_of(const Settings& s, const typename P::Real* half_kicks,
                    const typename P::Real* thermostats) {
  using Real = typename P::Real;
  Motion<P> motion{};
  motion.frame = frame_of<P>(s.box);
  motion.time_step = static_cast<Real>(s.time_step);
  if constexpr (has_scalars<P>) {
    motion.scalars.kind = s.pairs.scalars;
    motion.scalars.half_step = 0.5 * s.time_step;
  }
  motion.half_kick = half_kicks_of<P>(s).back();
  motion.half_kicks = s.pairs.types > 1 ? half_kicks : nullptr;
  // A particle that moves by a quarter of all units in a step counts as lost: drift().
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
  if (s.loses_at_once) motion.wall[motion.walls++] = {0, kOpenFaces, false, kIntegrated};
  for (const LangevinThermostat& thermostat : s.langevin_thermostats) {
    const Real* const friction =
        thermostats + 2 * thermostat.friction.size() * static_cast<std::size_t>(motion.thermostats);
    motion.thermostat[motion.thermostats++] = {
        // [thermostat][friction, noise][types + 1] in one array.
        friction, friction + thermostat.friction.size(),
        square_root(static_cast<Real>(thermostat.temperature)), thermostat.seed, thermostat.flag};
  }
  motion.limited = s.speed_limit.speed > 0 ? s.speed_limit.flag : 0;
  motion.limit_squared = static_cast<Real>(s.speed_limit.speed * s.speed_limit.speed);
  for (const Surface& each : s.surfaces) {
    const auto real = [](double a) { return static_cast<Real>(a); };
    SurfaceOfStep<P>& surface = motion.surface[motion.surfaces++];
    place_surface(s.box, each.center, each.radius, surface);
    surface.cutoff = real(each.cutoff);
    surface.first = real(each.first);
    surface.second = real(each.second);
    surface.law = each.law;
    surface.axes = each.axes;
    surface.side = each.outside ? Real(1) : Real(-1);
    surface.flag = each.flag;
  }
  for (const BodyForce& force : s.body_forces) {
    auto& body = motion.body[motion.body_forces++];
    body.force = vector_from<Real>(force.force);
    body.replaced = static_cast<std::uint8_t>(force.replaced);
    body.scalar = static_cast<std::int8_t>(force.scalar);
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

bool has_bonded_terms(const Settings& s) {
  return !s.angles.empty() || !s.dihedrals.empty() || !s.impropers.empty() ||
         std::any_of(s.bonds.begin(), s.bonds.end(),
                     [](const BondCoefficients& bond) { return bond.form != kHarmonic; });
}

template <Precision P>
BondedTerms bonded_terms_of(const Box& box) {
  const CoordinateFrame<Double> frame = frame_of<Double>(box);
  Matrix<double> edges = frame.edges;
  for (double* length : {&edges.xx, &edges.yy, &edges.zz, &edges.xy, &edges.xz, &edges.yz})
    // From units of 2^-64 to those of this precision's frame.
    *length *= units<Double> / units<P>;  // a power of two
  return {edges, frame.tilted != 0, nullptr, nullptr, nullptr, nullptr, nullptr};
}

#define MANYMOVE_INSTANTIATE(P)                                                     \
  template CoordinateFrame<P> frame_of<P>(const Box&);                              \
  template Laws<P> laws_of<P>(const Settings&, double);                             \
  template std::vector<P::Real> half_kicks_of<P>(const Settings&);                  \
  template std::vector<P::Real> thermostat_coefficients_of<P>(const Settings&);     \
  template Motion<P> motion_of<P>(const Settings&, const P::Real*, const P::Real*); \
  template BondedTerms bonded_terms_of<P>(const Box&);                              \
  template void place_surface<P>(const Box&, const double[3], double, SurfaceOfStep<P>&);
MANYMOVE_INSTANTIATE(Mixed)
MANYMOVE_INSTANTIATE(Double)
MANYMOVE_INSTANTIATE(MixedWithScalars)
MANYMOVE_INSTANTIATE(DoubleWithScalars)
#undef MANYMOVE_INSTANTIATE

}  // namespace manymove::dpd
