// SPDX-License-Identifier: BSD-3-Clause
// One time step of one particle: the sum of its forces and its motion. What the resident engines on
// CPU and GPU share; they differ in scheduling alone.
#pragma once

#include "fixed_point.h"
#include "many_body.h"
#include "model.h"
#include "pair_potentials.h"
#include "scalar_transport.h"
#include "surfaces.h"
#include "transverse.h"

namespace manymove::dpd {

// ---- forces ----

template <class Real>
struct SpecialFactors {
  Real factor[4], root[4];
};

template <class Real>
struct ScalarForces {
  ScalarKind kind;
  const ScalarLaw<Real>* laws;  // [types + 1][types + 1]
};
struct NoScalarForces {};

template <Precision P>
struct Forces {  // what the sum over one particle's neighbors needs
  using Real = typename P::Real;
  CoordinateFrame<P> frame;
  Real cutoff_squared;
  PairLaw<Real> law;          // of the only pair of types
  const PairLaw<Real>* laws;  // else [types + 1][types + 1]
  int types;
  bool general_exponent;
  SpecialFactors<Real> special;
  NoiseKey noise;
  Real noise_scale;            // of sigma, in this step
  ManyBody<Real> many_body;    // used where there are densities
  TransverseLaw<Real> across;  // like law and laws, used by transverse forces
  const TransverseLaw<Real>* laws_across;
  PairLaw<Real> law_beyond;              // beyond_transverse() of the only pair of types
  PotentialLaw<Real> potential;          // of the only pair of types
  const PotentialLaw<Real>* potentials;  // [types + 1][types + 1]; null: there are none
  bool lennard_jones;                    // all of them are of this form
  const TableNode* nodes;                // of all tables
  FlowGradient<Real> shear;              // of the flow that velocities are relative to
  std::conditional_t<has_scalars<P>, ScalarForces<Real>, NoScalarForces> scalars;
};

// What a kernel of a GPU has in addition to the forces of PairLaw: forces of local densities,
// friction and noise across the line of centers, potentials, shear alone, or one kind of scalars.
// Shear is also in those of the others that are not plain.
enum class Extra { none, many_body, transverse, potential, shear, temperature, concentrations };
constexpr bool is_of_scalars(Extra extra) {
  return extra == Extra::temperature || extra == Extra::concentrations;
}
constexpr bool may_be_sheared(bool plain, Extra extra) {
  return extra == Extra::shear || (!plain && extra != Extra::none && !is_of_scalars(extra));
}
// Whether the box is upright.
constexpr bool is_upright(bool plain, Extra extra) { return plain && extra != Extra::shear; }

template <class Real>
struct Sum {
  Vector<Real> force = {0, 0, 0};
  Real energy = 0, virial[6] = {};  // each pair counted at both ends
};

template <class Real>
struct SumWithFlux : Sum<Real> {
  Vector<double> flux = {0, 0, 0};  // of scalars
};
template <Precision P>
using SumOf =
    std::conditional_t<has_scalars<P>, SumWithFlux<typename P::Real>, Sum<typename P::Real>>;

// The energy of a pair, and its virial W_ab = r_a f_b in LAMMPS' order xx, yy, zz, xy, xz, yz,
// which matters for a force that is not along r: its virial has no symmetry.
template <class Real>
MM_HD void add_energy(Sum<Real>& sum, const Vector<Real>& r, const Vector<Real>& force,
                      Real energy) {
  sum.energy += energy;
  sum.virial[0] = fused(r.x, force.x, sum.virial[0]);
  sum.virial[1] = fused(r.y, force.y, sum.virial[1]);
  sum.virial[2] = fused(r.z, force.z, sum.virial[2]);
  sum.virial[3] = fused(r.x, force.y, sum.virial[3]);
  sum.virial[4] = fused(r.x, force.z, sum.virial[4]);
  sum.virial[5] = fused(r.y, force.z, sum.virial[5]);
}
// The same of a force along the line of centers, (f / r) r_ij.
template <class Real>
MM_HD void add_energy(Sum<Real>& sum, const Vector<Real>& r, Real over_distance, Real energy) {
  const Vector<Real> force = {r.x * over_distance, r.y * over_distance, r.z * over_distance};
  add_energy(sum, r, force, energy);
}

// The place of a pair with these kinds in P::Position in tables [types + 1][types + 1]. kind: the
// type in the lower 16 bits, flags above; types count from 1, so that row 0 is unused.
MM_HD std::uint32_t types_of(int types, std::uint32_t kind_i, std::uint32_t kind_j) {
  return (kind_i & 0xffffu) * static_cast<std::uint32_t>(types + 1) + (kind_j & 0xffffu);
}

// The law of a pair with these kinds in P::Position and this entry in a list, and that across the
// line of centers unless it is null. For special neighbors, the factor f multiplies a and gamma,
// and its root multiplies sigma, so that sigma^2 = 2 gamma k_B T holds for them as well (Eq. 9).
template <Precision P>
MM_HD PairLaw<typename P::Real> law_of_pair(const Forces<P>& f, std::uint32_t kind_i,
                                            std::uint32_t kind_j, std::uint32_t entry,
                                            TransverseLaw<typename P::Real>* across = nullptr) {
  const std::uint32_t types = types_of(f.types, kind_i, kind_j);
  PairLaw<typename P::Real> law = f.types == 1 ? f.law : f.laws[types];
  if (across) *across = f.types == 1 ? f.across : f.laws_across[types];
  law.sigma *= f.noise_scale;
  if (across) across->sigma *= f.noise_scale;
  // The upper two bits of an entry tell which kind of special neighbor j is; 0: none.
  if (const std::uint32_t kind = entry >> 30) {
    law.a *= f.special.factor[kind];
    law.gamma *= f.special.factor[kind];
    law.sigma *= f.special.root[kind];
    if (across) across->gamma *= f.special.factor[kind];
    if (across) across->sigma *= f.special.root[kind];
  }
  return law;
}

// The pair (i, j), perhaps within the largest cutoff; what is farther away adds zero. plain: one
// pair of types, weight exponent 1, no special neighbors, no potential but that of Lennard-Jones,
// and except for Extra::shear an upright box. densities = rho_i + rho_j, of many-body forces.
template <Precision P, PairMath Math, bool plain, bool with_energy, Extra extra = Extra::none>
MM_HD void add_pair(SumOf<P>& sum, const Forces<P>& f, const typename P::Position& i,
                    const typename P::Velocity& vi, const typename P::Position& j,
                    const typename P::Velocity& vj, std::uint32_t entry,
                    typename P::Real densities = 0) {
  static_assert(has_scalars<P> == is_of_scalars(extra));
  using Real = typename P::Real;
  constexpr bool many_body = extra == Extra::many_body;
  // r_ij and v_ij of Eqs. 3 to 5. Velocities are relative to the flow, whose difference is added.
  const Vector<Real> r = separation<is_upright(plain, extra)>(f.frame, i, j);
  Vector<Real> v = {vi.x - vj.x, vi.y - vj.y, vi.z - vj.z};
  if constexpr (may_be_sheared(plain, extra)) f.shear.add_at(r, v);
  const Real squared = dot(r, r);
  [[maybe_unused]] const Real approach = dot(r, v);
  if (sizeof(Real) == 8 && !(squared < f.cutoff_squared)) return;
  // xi_ij of Eq. 5 is a function of the tags and the step alone: any thread of any rank draws it.
  if constexpr (extra == Extra::transverse) {
    // Friction and noise across the line of centers, too: a vector.
    const Vector<Real> noise = vector_of<Real>(
        transverse_noise<Math>(f.noise, vi.tag, vj.tag, turn_of_pair(vi.tag, vj.tag)));
    VectorForce<Real> pair;
    if constexpr (plain) {
      pair = transverse_force<false, Math>(f.law_beyond, f.across, r, v, noise);
    } else {
      TransverseLaw<Real> across;
      const PairLaw<Real> law = law_of_pair(f, i.kind, j.kind, entry, &across);
      pair = f.general_exponent ? transverse_force<true, Math>(law, across, r, v, noise)
                                : transverse_force<false, Math>(beyond_transverse(law, across),
                                                                across, r, v, noise);
    }
    // In mixed precision, where sums are made of integers, `sum` is that of this pair alone.
    sum.force = sizeof(Real) == 4 ? pair.force : sum.force + pair.force;
    if constexpr (with_energy) add_energy(sum, r, pair.force, pair.energy);
  } else {
    float of_force;
    [[maybe_unused]] Vector<Real> exchanged;
    if constexpr (has_scalars<P>)
      exchanged = vector_of<Real>(vector_and_scalar_noise<Math>(
          f.noise, vi.tag, vj.tag, turn_of_pair(vi.tag, vj.tag), of_force));
    else
      of_force = pair_noise<Math>(f.noise, vi.tag, vj.tag);
    const auto noise = static_cast<Real>(of_force);
    PairForce<Real> pair;
    if constexpr (has_scalars<P>) {
      constexpr ScalarKind kind = extra == Extra::temperature ? kTemperature : kConcentrations;
      pair = scalar_pair<Math>(
          kind, law_of_pair(f, i.kind, j.kind, entry),
          f.scalars.laws[types_of(f.types, i.kind, j.kind)],
          {vi.scalars_of_pair(), vj.scalars_of_pair(), squared, approach, noise, exchanged},
          sum.flux);
    } else if constexpr (plain) {
      pair = pair_force<false, Math>(f.law, squared, approach, noise);
    } else {
      const PairLaw<Real> law = law_of_pair(f, i.kind, j.kind, entry);
      // A special neighbor counts as much less in the force as it does in rho (with_neighbor()).
      if (many_body && entry >> 30) densities *= f.special.factor[entry >> 30];
      pair = f.general_exponent ? pair_force<true, Math>(law, squared, approach, noise)
                                : pair_force<false, Math>(law, squared, approach, noise);
    }
    if constexpr (many_body) add_many_body<Math>(f.many_body, squared, densities, pair);
    if constexpr (extra == Extra::potential && plain)
      add_lennard_jones(f.potential, squared, pair);
    else if constexpr (extra == Extra::potential)
      add_potential(f.potentials[types_of(f.types, i.kind, j.kind)], f.nodes, squared,
                    f.special.factor[entry >> 30], pair);
    add_scaled(sum.force, r, pair.over_distance);
    if constexpr (with_energy) add_energy(sum, r, pair.over_distance, pair.energy);
  }
}

// Adds the neighbor j to the density of particle i, over ManyBody::density_scale.
template <Precision P, PairMath Math, bool plain>
MM_HD typename P::Real with_neighbor(const Forces<P>& f, const typename P::Position& i,
                                     const typename P::Position& j, std::uint32_t entry,
                                     typename P::Real density) {
  using Real = typename P::Real;
  const Vector<Real> r = separation<plain>(f.frame, i, j);
  const Real factor = plain ? Real(1) : f.special.factor[entry >> 30];
  return with_neighbor<Math>(f.many_body, dot(r, r), factor, density);
}

template <class Real>
struct BondLaw {
  Real twice_stiffness, length;
};

// E = K (r - r0)^2; two ends in one place feel nothing, as in LAMMPS.
template <Precision P>
MM_HD void add_bond(Sum<typename P::Real>& sum, const CoordinateFrame<P>& frame,
                    const typename P::Position& i, const typename P::Position& j,
                    const BondLaw<typename P::Real>& law, bool with_energy) {
  using Real = typename P::Real;
  const Vector<Real> r = separation(frame, i, j);
  // f / r = -2 K (r - r0) / r.
  const Real distance = square_root(dot(r, r)), stretch = distance - law.length;
  const Real over_distance =
      distance > Real(0) ? -law.twice_stiffness * stretch / distance : Real(0);
  add_scaled(sum.force, r, over_distance);
  if (with_energy)
    add_energy(sum, r, over_distance, Real(0.5) * law.twice_stiffness * stretch * stretch);
}

// ---- motion ----

// Motion::wall::axis where all faces that are not periodic are open (Settings::loses_at_once).
constexpr int kOpenFaces = 3;
constexpr int kMostWalls = 6, kMostBodyForces = 8, kMostThermostats = 4, kMostSurfaces = 6;

// The motion of scalars, in double precision because changes of a step can be too small for
// float32.
struct ScalarMotion {
  ScalarKind kind;
  double half_step;                // half the time step
  double source[kMostBodyForces];  // of those body forces that are sources
};
struct NoScalarMotion {};

template <Precision P>
struct Motion {
  using Real = typename P::Real;
  CoordinateFrame<P> frame;
  Real time_step;
  Real half_kick;          // half the time step over the mass, of the only type
  const Real* half_kicks;  // else [types + 1]
  Real too_far;  // a quarter of the frame in its units: farther than that in one step is lost
  int walls, body_forces, surfaces;
  struct {
    typename P::Unsigned position;
    int axis;
    bool high;
    std::uint32_t flag;
  } wall[kMostWalls + 1];  // the last one may be kOpenFaces
  struct {
    Vector<Real> force;
    typename P::Unsigned low[3], high[3];
    bool everywhere;
    std::uint8_t replaced;  // bit a: component a replaces the force
    std::int8_t scalar;     // of a source (ScalarMotion); -1: a force
    std::uint32_t flag;
  } body[kMostBodyForces];
  SurfaceOfStep<P> surface[kMostSurfaces];
  int thermostats;
  struct {
    const Real *friction, *noise;  // [types + 1]
    Real root;                     // of the temperature
    std::uint32_t seed, flag;
  } thermostat[kMostThermostats];
  std::uint32_t draw[2];  // of the step, for thermostats
  std::uint32_t limited;  // flag of particles whose speed is limited; 0: there are none
  Real limit_squared;
  std::conditional_t<has_scalars<P>, ScalarMotion, NoScalarMotion> scalars;
};

// Whether a body force acts on a particle. A block is one in the integers of the frame, its faces
// included.
template <Precision P>
MM_HD bool acts_on(const auto& body, const typename P::Position& r) {
  return (r.kind >> 16 & body.flag) &&
         (body.everywhere || !(r.x < body.low[0] || r.x > body.high[0] || r.y < body.low[1] ||
                               r.y > body.high[1] || r.z < body.low[2] || r.z > body.high[2]));
}

template <Precision P>
MM_HD Vector<typename P::Real> with_body_forces(const Motion<P>& motion,
                                                const typename P::Position& r,
                                                Vector<typename P::Real> force) {
  for (int k = 0; k < motion.surfaces; ++k) add_surface(motion.frame, motion.surface[k], r, force);
  for (int k = 0; k < motion.body_forces; ++k) {
    const auto& b = motion.body[k];
    if (!acts_on<P>(b, r)) continue;
    if constexpr (has_scalars<P>)
      if (b.scalar >= 0) continue;
    // Forces that are not numbers (kForbidden) are not replaced.
    const auto with = [](bool replaced, auto mine, auto its) {
      return replaced && mine == mine ? its : mine + its;
    };
    force.x = with(b.replaced & 1u, force.x, b.force.x);
    force.y = with(b.replaced & 2u, force.y, b.force.y);
    force.z = with(b.replaced & 4u, force.z, b.force.z);
  }
  return force;
}

// Adds the forces of Langevin thermostats on a particle with the velocity in the middle of the
// step: f += -friction v + noise sqrt(T) (u - 1/2), u uniform in (0, 1).
template <Precision P>
MM_HD void add_thermostats(const Motion<P>& motion, const typename P::Position& r,
                           const typename P::Velocity& v, Vector<typename P::Real>& force) {
  using Real = typename P::Real;
  for (int k = 0; k < motion.thermostats; ++k) {
    const auto& thermostat = motion.thermostat[k];
    if (!(r.kind >> 16 & thermostat.flag)) continue;
    std::uint32_t word[4] = {motion.draw[0], motion.draw[1], v.tag,
                             0x6c677600u /* "lgv" */ + static_cast<std::uint32_t>(k)};
    philox(word, {thermostat.seed, 0});
    const Real friction = thermostat.friction[r.kind & 0xffffu],
               noise = thermostat.noise[r.kind & 0xffffu] * thermostat.root;
    // Odd multiples of 2^-32 in (-1/2, 1/2), which are symmetric.
    const auto uniform = [](std::uint32_t w) {
      return static_cast<Real>(static_cast<std::int32_t>(w | 1u)) * Real(0x1p-32);
    };
    force.x += fused(noise, uniform(word[0]), -friction * v.x);
    force.y += fused(noise, uniform(word[1]), -friction * v.y);
    force.z += fused(noise, uniform(word[2]), -friction * v.z);
  }
}

// Half a step of the velocity: v += f dt / 2m (Eq. 1 by velocity Verlet). limits: whether speeds
// may be limited; a speed beyond the limit is scaled down to it. A force that is not a number
// (kForbidden) makes such a velocity also of particles that do not move.
template <bool limits, Precision P>
MM_HD void kick(const Motion<P>& motion, const typename P::Position& r, typename P::Velocity& v,
                const Vector<typename P::Real>& force) {
  if (!(r.kind >> 16 & kIntegrated)) {
    if (force.x != force.x) v.x = force.x;
    return;
  }
  const auto half = motion.half_kicks ? motion.half_kicks[r.kind & 0xffffu] : motion.half_kick;
  v.x = fused(half, force.x, v.x);
  v.y = fused(half, force.y, v.y);
  v.z = fused(half, force.z, v.z);
  if (!limits || !(r.kind >> 16 & motion.limited)) return;
  using Real = typename P::Real;
  // Velocities whose squares would be infinite have the components of their directions instead.
  const Real largest = max_of(abs_of(v.x), max_of(abs_of(v.y), abs_of(v.z)));
  const bool huge = largest > Real(1e18);
  if (huge) {
    const auto part = [largest](Real c) {  // infinite components are the largest, too
      return abs_of(c) == largest ? (c > Real(0) ? Real(1) : Real(-1)) : c / largest;
    };
    v.x = part(v.x);
    v.y = part(v.y);
    v.z = part(v.z);
  }
  const Real squared = dot(Vector<Real>{v.x, v.y, v.z}, Vector<Real>{v.x, v.y, v.z});
  if (!huge && !(squared > motion.limit_squared)) return;
  const Real scale = square_root(motion.limit_squared / squared);
  v.x *= scale;
  v.y *= scale;
  v.z *= scale;
}

// Adds the sources of scalars to the flux of a particle: of heat, C dT/dt.
template <Precision P>
MM_HD void add_sources(const Motion<P>& motion, const typename P::Position& r,
                       const typename P::Velocity& v, Vector<double>& flux) {
  for (int k = 0; k < motion.body_forces; ++k) {
    const auto& b = motion.body[k];
    if (b.scalar < 0 || !acts_on<P>(b, r)) continue;
    const double source = motion.scalars.source[k];
    const double more = motion.scalars.kind == kTemperature ? v.scalars().y * source : source;
    // Without a reference to one of three components, which would keep them in memory.
    if (b.scalar == 0)
      flux.x += more;
    else if (b.scalar == 1)
      flux.y += more;
    else
      flux.z += more;
  }
}
// Half a step of the scalars: T += q dt / 2C, or c += q dt / 2.
template <Precision P>
MM_HD void kick_scalars(const Motion<P>& motion, const typename P::Position& r,
                        typename P::Velocity& v, const Vector<double>& flux) {
  if (!(r.kind >> 16 & kIntegrated)) return;
  const double half = motion.scalars.half_step;
  Vector<double> scalars = v.scalars();
  if (motion.scalars.kind == kTemperature)
    scalars.x = fused(half / scalars.y, flux.x, scalars.x);
  else
    add_scaled(scalars, flux, half);
  v.set_scalars(scalars);
}

// The scalars at the end of a step, after a flux from pairs: they come to rest, and `at_rest`
// receives the whole flux; or they go on to the middle of the next step.
template <bool rests, Precision P>
MM_HD void step_scalars(const Motion<P>& motion, const typename P::Position& r,
                        typename P::Velocity& v, Vector<double> flux, Vector<double>& at_rest) {
  add_sources(motion, r, v, flux);
  kick_scalars(motion, r, v, flux);
  if constexpr (rests)
    at_rest = flux;
  else
    kick_scalars(motion, r, v, flux);
}

struct FaceCrossings {
  int x = 0, y = 0, z = 0;  // of periodic faces
  bool lost = false;
};

// Adds a distance in units of the frame to a coordinate, which wraps at the periodic face because
// it is an unsigned integer. Returns the number of crossings: 1 upward, -1 downward, else 0.
template <Precision P>
MM_HD int advance_coordinate(typename P::Unsigned& u, typename P::Real by) {
  const auto d = static_cast<typename P::Unsigned>(nearest_integer(by));
  const typename P::Unsigned before = u;
  u += d;
  // The sum wraps on the way up through the face, and on the way down unless it goes through.
  const bool wrapped = u < before, down = static_cast<typename P::Signed>(d) < 0;
  return static_cast<int>(wrapped) - static_cast<int>(down);
}

// Bounce-forward at a wall: a coordinate beyond it, in the frame's own order (a difference would
// wrap beyond the far face of the box), is mirrored, and its velocity reversed.
template <Precision P>
MM_HD void mirror(typename P::Unsigned wall, bool high, typename P::Unsigned& u,
                  typename P::Real& v) {
  if (high ? u <= wall : u >= wall) return;
  u = wall + (wall - u);
  v = -v;
}

// A step of the position, r += v dt, then the walls. In the frame a displacement has the components
// a = to.xx x + to.xy y + to.xz z, b = to.yy y + to.yz z and c = to.zz z.
template <Precision P>
MM_HD FaceCrossings drift(const Motion<P>& motion, typename P::Position& r,
                          typename P::Velocity& v) {
  using Real = typename P::Real;
  FaceCrossings crossing;
  if constexpr (has_scalars<P>)
    if (motion.scalars.kind == kTemperature && !(v.scalars().x > 0)) {
      crossing.lost = true;
      return crossing;
    }
  if (!(r.kind >> 16 & kIntegrated)) {
    crossing.lost = v.x != v.x;
    return crossing;
  }
  const CoordinateFrame<P>& frame = motion.frame;
  const Real x = motion.time_step * v.x, y = motion.time_step * v.y, z = motion.time_step * v.z;
  Real a = x * frame.to.xx, b = y * frame.to.yy;
  const Real c = z * frame.to.zz;
  if (frame.tilted) {
    a = fused(y, frame.to.xy, fused(z, frame.to.xz, a));
    b = fused(z, frame.to.yz, b);
  }
  if (!(abs_of(a) < motion.too_far && abs_of(b) < motion.too_far && abs_of(c) < motion.too_far)) {
    crossing.lost = true;
    return crossing;
  }
  crossing.x = advance_coordinate<P>(r.x, a);
  crossing.y = advance_coordinate<P>(r.y, b);
  crossing.z = advance_coordinate<P>(r.z, c);
  for (int k = 0; k < motion.walls; ++k) {
    const auto& wall = motion.wall[k];
    if (!(r.kind >> 16 & wall.flag)) continue;
    // Without a reference to one of three coordinates, which would keep them in memory.
    if (wall.axis == 0)
      mirror<P>(wall.position, wall.high, r.x, v.x);
    else if (wall.axis == 1)
      mirror<P>(wall.position, wall.high, r.y, v.y);
    else if (wall.axis == 2)
      mirror<P>(wall.position, wall.high, r.z, v.z);
    else
      crossing.lost = outside(frame.open, r);
  }
  return crossing;
}

// The velocity relative to the flow where the particle is after a step: the flow there is faster by
// its gradient times v dt.
template <class Real>
MM_HD void follow_flow(const FlowGradient<Real>& shear, Real time_step, auto& v) {
  shear.times(-time_step).add_at(v, v);
}

// The place of a particle and its image in the equivalent box whose tilt is smaller, or larger, by
// the extent along the flow.
MM_HD void change_tilt(const Shear& shear, bool smaller, auto& r, auto& image) {
  const auto across = shear.gradient == 1 ? r.y : r.z;
  const int image_across = shear.gradient == 1 ? image.y : image.z;
  auto& along = shear.flow == 0 ? r.x : r.y;
  auto& image_along = shear.flow == 0 ? image.x : image.y;
  const auto before = along;
  along = smaller ? before + across : before - across;
  image_along += smaller ? image_across + (along < before) : -image_across - (along > before);
}

}  // namespace manymove::dpd
