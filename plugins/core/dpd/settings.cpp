// SPDX-License-Identifier: BSD-3-Clause
#include "settings.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "../runtime/text.h"
#include "engine_base.h"

namespace manymove::dpd {

void widths_of(const Box& box, double width[3]) {
  const double* e = box.extent;
  const double xy = box.tilt[0], xz = box.tilt[1], yz = box.tilt[2];
  // The volume over the area of each face; |b x c| = |(e1 e2, -xy e2, xy yz - xz e1)|.
  width[0] =
      e[0] * e[1] * e[2] / std::hypot(e[1] * e[2], std::hypot(xy * e[2], xy * yz - xz * e[1]));
  width[1] = e[1] * e[2] / std::hypot(e[2], yz);
  width[2] = e[2];
}

bool is_upright(const Box& box) { return box.tilt[0] == 0 && box.tilt[1] == 0 && box.tilt[2] == 0; }

// d(tilt) = rate L_g dt, with L_g along the gradient, up to half of the extent along the flow,
// where the box is replaced by the equivalent one of the opposite tilt.
double tilt_of_step(const Settings& s) {
  return s.shear.rate * s.box.extent[s.shear.gradient] * s.time_step;
}
Box most_tilted_box(const Settings& s) {
  Box tilted = s.box;
  if (s.shear.rate != 0)
    tilted.tilt[s.shear.tilt()] = 0.5 * s.box.extent[s.shear.flow] + std::fabs(tilt_of_step(s));
  return tilted;
}

// In a narrower box a particle would meet more than the nearest image of another.
void check_widths(const Settings& s) {
  double width[3];
  widths_of(s.box, width);
  for (int a = 0; a < 3; ++a)
    if (s.box.periodic[a] && !(width[a] >= 2 * s.cutoff))
      refuse("the periodic box is ", width[a], " wide along ", "xyz"[a],
             ", less than twice the largest cutoff ", s.cutoff);
}

void check_dilation(const Settings& s, const Box& box) {
  const bool regions = std::ranges::any_of(s.body_forces, &BodyForce::in_block);
  if (s.shear.rate != 0 || s.charges.any() || regions || !s.walls.empty() || !s.surfaces.empty())
    refuse("a box that changes cannot be combined with shear, charges, walls, surfaces or regions");
  for (int a = 0; a < 3; ++a)
    if (!box.periodic[a] || box.tilt[a] != 0 || !(box.extent[a] > 0) ||
        !std::isfinite(box.low[a]) || !std::isfinite(box.extent[a]))
      refuse("a box that changes has to be periodic, upright and finite");
}

namespace {

void check_positive(double value, const char* name) {
  if (!(value > 0) || !std::isfinite(value))
    refuse(name, " must be positive and finite, got ", value);
}

void check_not_negative(double value, const char* name) {
  if (!(value >= 0) || !std::isfinite(value)) refuse(name, " must not be negative, got ", value);
}

void check_box_and_step(const Settings& s) {
  check_positive(s.cutoff, "cutoff");
  check_not_negative(s.skin, "skin");
  check_positive(s.time_step, "time step");
  check_positive(s.force_to_acceleration, "acceleration per force");
  for (int a = 0; a < 3; ++a) {
    check_positive(s.box.extent[a], "box extent");
    if (!std::isfinite(s.box.low[a]) || !std::isfinite(s.box.tilt[a]))
      refuse("the box is not finite");
  }
  check_widths(s);
}

void check_potential(const Settings& s, const PairPotential& p, std::size_t i, std::size_t j) {
  if (p.form == kNoPotential) return;
  if (!std::isfinite(p.strength + p.length + p.steepness + p.shift) || !(p.cutoff > 0) ||
      p.cutoff > s.cutoff * (1 + 1e-12) ||
      (p.form == kTabulated && !(p.table && p.table->is_valid())))
    refuse("the potential of types ", i, " and ", j, " is out of range");
  if (s.pairs.transverse || s.pairs.has_densities())
    refuse("potentials of pairs cannot be combined with transverse or many-body forces");
}

// Coefficients of scalars, and of their forces, that mixed precision has as float32. Small ones of
// the exchange count where concentrations or heat capacities are large.
void check_mixed_precision(const PairCoefficients& c, std::size_t i, std::size_t j) {
  using Limits = std::numeric_limits<float>;
  const auto check = [&](const char* name, double value, double least = 0) {
    const double size = std::fabs(value);
    if (size > static_cast<double>(Limits::max()) || (size > 0 && size < least))
      refuse(name, ' ', value, " of types ", i, " and ", j,
             " is beyond the range of mixed precision: use precision double");
  };
  check("a", c.a);
  check("gamma", c.gamma);
  check("sigma", c.sigma);
  for (int k = 0; k < kScalars; ++k) {
    check("kappa", c.scalars.conductance[k], static_cast<double>(Limits::min()));
    check("epsilon over the root of the time step", c.scalars.noise[k],
          static_cast<double>(Limits::min()));
    check("the exponent", c.scalars.weight_exponent[k]);
  }
  for (int k = 0; k < 4; ++k) {
    check("the coefficient of the exponent", c.scalars.series_of_exponent[k]);
    check("the coefficient of kappa", c.scalars.series_of_conductance[k]);
  }
}

void check_scalars(const Settings& s, const ScalarCoefficients& c) {
  double sum = c.inverse_mass;
  for (int k = 0; k < 4; ++k) sum += c.series_of_exponent[k] + c.series_of_conductance[k];
  for (int k = 0; k < kScalars; ++k) {
    sum += c.noise[k];
    if (!(c.weight_exponent[k] >= 0) || !(c.conductance[k] >= 0)) sum = -HUGE_VAL;
  }
  if (!std::isfinite(sum) || !(c.inverse_cutoff > 0))
    refuse("coefficients of scalars are out of range");
  if (s.pairs.transverse || s.pairs.has_densities() || s.pairs.has_potentials() ||
      !s.pairs.ramp.is_constant() || s.shear.rate != 0 || s.charges.any())
    refuse("scalars cannot be combined with transverse or many-body forces, potentials, ",
           "charges, shear or a temperature that changes");
}

void check_pairs(const Settings& s) {
  // A particle's word has 16 bits for its type.
  if (s.pairs.types < 1 || s.pairs.types > 0xffff)
    refuse("the number of types must be from 1 to 65535, got ", s.pairs.types);
  const auto types = static_cast<std::size_t>(s.pairs.types);
  if (s.mass.size() != types + 1)
    refuse("each of ", types, " types needs a mass, got ", s.mass.size() - 1);
  for (std::size_t i = 1; i <= types; ++i) {
    check_positive(s.mass[i], "mass");
    for (std::size_t j = 1; j <= types; ++j) {
      // [types + 1][types + 1]: types count from 1.
      const PairCoefficients& c = s.pairs.coefficients[i * (types + 1) + j];
      // Lists reach as far as the largest cutoff, which no pair may exceed.
      if (!std::isfinite(c.a) || !(c.gamma >= 0) || !(c.sigma >= 0) || !(c.inverse_cutoff > 0) ||
          !(c.weight_exponent >= 0) || 1 / c.inverse_cutoff > s.cutoff * (1 + 1e-12))
        refuse("coefficients of types ", i, " and ", j, " are out of range");
      if (!(c.transverse_gamma >= 0) || !(c.transverse_sigma >= 0) || !(c.transverse_exponent >= 0))
        refuse("transverse coefficients of types ", i, " and ", j, " are out of range");
      check_potential(s, c.potential, i, j);
      if (s.pairs.scalars) check_scalars(s, c.scalars);
      if (s.pairs.scalars && !s.pairs.double_precision) check_mixed_precision(c, i, j);
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
}

// The engine's velocities are relative to the flow; forces that depend on the velocity itself are
// therefore refused.
void check_shear(const Settings& s) {
  const int along = s.shear.flow, across = s.shear.gradient;
  if (along < 0 || across <= along || across > 2)
    refuse("shear has the flow along ", along, " and its gradient along ", across);
  Box untilted = s.box;
  untilted.tilt[s.shear.tilt()] = 0;
  const bool tilts_otherwise = !is_upright(untilted);
  const double period = s.box.extent[along], of_step = tilt_of_step(s);
  double width[3];
  widths_of(most_tilted_box(s), width);
  if (!std::isfinite(s.shear.rate)) refuse("the rate of shear is not finite: ", s.shear.rate);
  if (!s.box.periodic[along] || !s.box.periodic[across] || tilts_otherwise)
    refuse(
        "shear needs a box that is periodic along the flow and its gradient, with no other tilt");
  if (width[along] < 2 * s.cutoff)
    refuse("the box under shear is ", width[along], " wide along ", "xyz"[along],
           ", less than twice the largest cutoff ", s.cutoff);
  // In a step of strain rate * dt places at the distance cutoff + skin come closer by this product.
  if (std::fabs(of_step) > 0.1 * period ||
      std::fabs(s.shear.rate) * s.time_step * (s.cutoff + s.skin) > 0.1 * s.skin)
    refuse("the rate of shear ", s.shear.rate, " is too high for the time step ", s.time_step,
           " and the skin ", s.skin, ": use a shorter time step or a wider skin");
  if (!s.walls.empty() || !s.surfaces.empty() || !s.langevin_thermostats.empty() ||
      s.speed_limit.speed > 0 || !s.velocity_changes.empty() || has_bonded_terms(s) ||
      std::any_of(s.body_forces.begin(), s.body_forces.end(),
                  [](const BodyForce& body) { return body.in_block; }))
    refuse(
        "shear cannot be combined with walls, surfaces, Langevin thermostats, limits of speeds, "
        "changes of "
        "velocities, FENE bonds, tabulated bonds, angles, dihedrals, impropers or body forces in a "
        "block");
}

// Its chain has length zero without a thermostat.
void check_thermostat(const Settings& s) {
  const NoseHoover& chain = s.thermostat;
  if (chain.chain == 0) return;
  if (chain.chain < 0)
    refuse("the length of the thermostat chain must not be negative, got ", chain.chain);
  check_positive(chain.damping_time, "damping time");
  check_positive(chain.temperature, "temperature of the thermostat");
  check_positive(chain.boltzmann, "Boltzmann constant");
  // The masses of the chain, N_f k_B T tau^2 and k_B T tau^2, are divisors.
  check_positive(chain.degrees_of_freedom, "number of degrees of freedom");
  check_positive(chain.temperature_of_sum, "temperature of a sum of m v^2");
}

void check_walls(const Settings& s) {
  if (s.walls.size() > kMostWalls)
    refuse("at most ", kMostWalls, " walls are possible, got ", s.walls.size());
  if (s.body_forces.size() > kMostBodyForces)
    refuse("at most ", kMostBodyForces, " body forces are possible, got ", s.body_forces.size());
  for (const Wall& wall : s.walls) {
    if (!is_upright(s.box) || s.box.periodic[wall.axis])
      refuse("a wall needs an upright box that is not periodic across it");
    if (!(wall.position >= s.box.low[wall.axis]) ||
        !(wall.position <= s.box.low[wall.axis] + s.box.extent[wall.axis]))
      refuse("the wall at ", wall.position, " along ", "xyz"[wall.axis], " is outside the box");
  }
}

void check_surfaces(const Settings& s) {
  if (s.surfaces.size() > kMostSurfaces)
    refuse("at most ", kMostSurfaces, " surfaces are possible, got ", s.surfaces.size());
  if (!s.surfaces.empty() && !is_upright(s.box)) refuse("a surface needs an upright box");
  for (const Surface& each : s.surfaces) {
    if (!(each.axes > 0 && each.axes < 8) || !(each.radius >= 0) ||
        !std::isfinite(each.radius + each.first + each.second) || !(each.cutoff >= 0))
      refuse("the coefficients of a surface are out of range");
    for (int a = 0; a < 3; ++a) {
      if (!std::isfinite(each.center[a])) refuse("the center of a surface is not finite");
      // Otherwise the nearest image of a plane is behind particles that are in front of it.
      if (each.axes == 1u << a && s.box.periodic[a])
        refuse("a plane needs a box that is not periodic along ", "xyz"[a]);
    }
  }
}

void check_bonded(const Settings& s) {
  const auto check = [](const auto& all, const char* term, const auto& is_valid) {
    for (std::size_t k = 1; k < all.size(); ++k)
      if (!is_valid(all[k])) refuse("coefficients of ", term, " type ", k, " are out of range");
  };
  const auto is_finite = [](const auto& law) { return std::isfinite(law.stiffness + law.angle); };
  check(s.bonds, "bond", [](const BondCoefficients& bond) {
    return std::isfinite(bond.stiffness + bond.length + bond.epsilon + bond.sigma) &&
           (bond.form != kFene || bond.length > 0) &&
           (bond.form != kTabulatedBond || (bond.table && bond.table->is_valid()));
  });
  check(s.angles, "angle", is_finite);
  check(s.dihedrals, "dihedral", [](const DihedralCoefficients& law) {
    return std::isfinite(
        std::accumulate(std::begin(law.amplitude), std::end(law.amplitude), law.constant));
  });
  check(s.impropers, "improper", is_finite);
}

void check_thermostats(const Settings& s) {
  const auto types = static_cast<std::size_t>(s.pairs.types);
  if (s.langevin_thermostats.size() > kMostThermostats)
    refuse("at most ", kMostThermostats, " Langevin thermostats are possible, got ",
           s.langevin_thermostats.size());
  for (const LangevinThermostat& thermostat : s.langevin_thermostats) {
    if (thermostat.friction.size() != types + 1 || thermostat.noise.size() != types + 1)
      refuse("coefficients of a Langevin thermostat for ", thermostat.friction.size() - 1,
             " types");
    for (std::size_t i = 1; i <= types; ++i)
      if (!std::isfinite(thermostat.friction[i]) || !std::isfinite(thermostat.noise[i]))
        refuse("coefficients of a Langevin thermostat are not finite");
    check_not_negative(thermostat.temperature, "the temperature of a Langevin thermostat");
  }
}

// What a bonded term of this role is called, and the number of its types, counted from 0.
struct BondedTerm {
  const char* name;
  std::size_t types;
};
BondedTerm term_of_role(const Settings& s, int role) {
  if (role == 0) return {"a bond", s.bonds.size()};
  if (role < kDihedral) return {"an angle", s.angles.size()};
  if (role < kImproper) return {"a dihedral", s.dihedrals.size()};
  return {"an improper", s.impropers.size()};
}

// On several ranks partners may be on others.
void check_bonds(const Settings& s, int count, const Topology& topology) {
  const bool alone = s.grid.rank.size() < 2;
  const HostTagIndex known(alone ? static_cast<std::size_t>(count) : 0, topology.tag);
  for (int i = 0; i < count; ++i) {
    for (int k = topology.first_bond[i]; k < topology.first_bond[i + 1]; ++k) {
      const int kind = topology.bond_type[k], role = kind & ~kBondedType, type = kind & kBondedType;
      const BondedTerm term = term_of_role(s, role);
      if (role != kFurtherPartner && (type < 1 || static_cast<std::size_t>(type) >= term.types))
        refuse("particle ", topology.tag[i], " has ", term.name, " of type ", type);
      if (alone && known.find(topology.bond_partner[k]) == TagIndex::kMissing)
        refuse("particle ", topology.tag[i], " is bonded to ", topology.bond_partner[k],
               ", which is missing");
    }
  }
}

}  // namespace

void check_settings(const Settings& s) {
  check_box_and_step(s);
  check_pairs(s);
  if (s.shear.rate != 0) check_shear(s);
  check_thermostat(s);
  check_charges(s);
  if (!is_transport(s.transport))
    refuse("transport ", s.transport, " must be auto, peer, shared, nccl, mpi or host");
  check_walls(s);
  check_surfaces(s);
  if (!(s.speed_limit.speed >= 0))
    refuse("the limit of speeds must not be negative, got ", s.speed_limit.speed);
  check_bonded(s);
  check_thermostats(s);
  for (const VelocityChange& change : s.velocity_changes)
    if (change.every < 1 || (change.kind == VelocityChange::kStop && !(change.mass > 0)))
      refuse("a change of velocities needs a positive interval and mass, got every ", change.every,
             " steps and the mass ", change.mass);
  for (const BodyForce& body : s.body_forces) {
    if (body.in_block && !is_upright(s.box)) refuse("a body force in a block needs an upright box");
    if (body.scalar >= (s.pairs.scalars == kTemperature      ? 1
                        : s.pairs.scalars == kConcentrations ? kScalars
                                                             : 0))
      refuse("there is no scalar ", body.scalar, " for a source");
  }
}

// ---- the choice of an engine by the name of the device ----

std::unique_ptr<Engine> make_engine(const Settings& settings, const std::string& device,
                                    int threads, Communicator* communicator) {
  check_settings(settings);
  if (communicator && communicator->ranks() == 1) communicator = nullptr;
  if (device == "cpu") return make_cpu_engine(settings, threads, communicator);
#if defined(MANYMOVE_HAVE_CUDA)
  if (device.starts_with("cuda")) {
    return for_precision(settings.pairs, [&]<Precision P>() {
      const int number = device.size() > 5 ? std::stoi(device.substr(5)) : -1;
      return make_cuda_engine<P>(settings, number, communicator);
    });
  }
#endif
  refuse("there is no engine for the device ", device, " in this build");
}

void check_topology(const Settings& s, int count, const Topology& topology) {
  checked_count(count);
  for (int i = 0; i < count; ++i) {
    if (topology.tag[i] == 0) refuse("a particle has tag 0");
    if (topology.type[i] < 1 || topology.type[i] > s.pairs.types)
      refuse("particle ", topology.tag[i], " has type ", topology.type[i]);
    if (s.shear.rate != 0 && !(topology.flags[i] & kIntegrated))
      refuse("particle ", topology.tag[i], " does not move, but the box is sheared");
  }
  if (topology.first_bond) check_bonds(s, count, topology);
  if (topology.rigid && (s.shear.rate != 0 || s.pairs.scalars))
    refuse("rigid bodies in a sheared box, or with scalars");
}

}  // namespace manymove::dpd
