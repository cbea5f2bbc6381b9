// SPDX-License-Identifier: BSD-3-Clause
// The particles of a host program: positions in its unit, written to its arrays and known again.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>

#include "equal_disks.h"
#include "state.h"

namespace manymove::hard_particles {

// Where the grid lies in the box.
struct Frame {
  int dimensions;
  double origin[3], extent[3];  // lower corner of the first cell; the box; integer units
  double box[3], unit[3];       // edges, and what they are over `extent`
  // With swap moves the diameters of the host program's particle types and of the particles, of
  // which types follow; otherwise `types` is 0.
  int types;
  const double *of_types, *of_particles;
  bool traces_all;  // see trace_of()
};

inline Frame host_frame(const State& s) {
  Frame f{};
  f.dimensions = s.dimensions();
  for (int a = 0; a < f.dimensions; ++a) {
    f.origin[a] = static_cast<double>(s.data.origin[a]);
    f.extent[a] = static_cast<double>(s.extent[a]);
    f.box[a] = s.parameters.box[a];
    f.unit[a] = f.box[a] / f.extent[a];
  }
  f.types = static_cast<int>(s.type_diameters.size());
  f.of_types = s.type_diameters.data();
  f.of_particles = s.parameters.diameters.data();
  f.traces_all = !s.equal_disks();
  return f;
}

// Along an axis, in integer units from the box's lower edge. All of these are integers below 2^53,
// so that nothing rounds.
MM_HD double place_in_box(const TiledGrid auto& g, const Frame& f, int axis, int cell,
                          float local) {
  const double center = (2.0 * cell + 1.0) * static_cast<double>(g.half[axis]);
  const double x = f.origin[axis] + center + static_cast<double>(local);
  return x >= f.extent[axis] ? x - f.extent[axis] : x;
}

// In [-L/2, L/2), the same everywhere.
MM_HD double coordinate(const Frame& f, int axis, double x) {
  return multiply_add_unfused(x, f.unit[axis], -0.5 * f.box[axis]);
}

// What a host program is given; a float32 that rounds to the upper edge is kept below it.
template <class Real>
MM_HD Real below_edge(double coordinate, double box) {
  const auto r = static_cast<Real>(coordinate);
  const auto edge = static_cast<Real>(0.5 * box);
  return r < edge ? r : edge * (1 - (sizeof(Real) == 4 ? Real(1.2e-7) : Real(2.3e-16)));
}
template <class Real, TiledGrid AnyGeometry>
MM_HD Real host_coordinate(const AnyGeometry& g, const Frame& f, int axis, int cell, float local) {
  return below_edge<Real>(coordinate(f, axis, place_in_box(g, f, axis, cell, local)), f.box[axis]);
}

// Crossings of the periodic boundary on the shortest way from one coordinate to another.
template <class Real>
MM_HD int crossings(Real from, Real to, double box) {
  const double d = static_cast<double>(to) - static_cast<double>(from);
  return d > 0.5 * box ? -1 : d < -0.5 * box ? 1 : 0;
}

// A position as a host program has it, with a fourth component that belongs to the host program.
template <class Real>
struct alignas(2 * sizeof(Real)) HostPosition {
  Real r[4];
};

// The sum of these over all particles tells whether one of them has been changed. Products of
// 32-bit words with keys of the particle, as in the hash NH (J. Black, S. Halevi, H. Krawczyk, T.
// Krovetz, P. Rogaway, CRYPTO '99), cost a tenth of what murmur_mix() would, because a cycle's
// kernel makes them. Each word is in two products.
template <class Real>
MM_HD std::uint64_t trace_of(std::uint32_t id, Real x, Real y) {
  const std::uint32_t key = id + 1;
  const auto low = [](std::uint64_t bits) { return static_cast<std::uint32_t>(bits); };
  const auto high = [](std::uint64_t bits) { return static_cast<std::uint32_t>(bits >> 32); };
  const auto product = [](std::uint32_t a, std::uint32_t b) { return std::uint64_t{a} * b; };
  const std::uint64_t a = bits_of(x), b = bits_of(y);
  return product(low(a) + key * 0x9e3779b1u, high(a) + key * 0x85ebca77u) +
         product(low(b) + key * 0xc2b2ae3du, high(b) + key * 0x27d4eb2fu) +
         product(low(a) + key * 0x165667b1u, low(b) + key * 0xd3a2646du) +
         product(high(a) + key * 0xfd7046c5u, high(b) + key * 0xb55a4f09u);
}
// For equal disks the third and fourth components have no say (all: false). Indices are below 2^31,
// so that the keys of both halves differ.
template <class Real>
MM_HD std::uint64_t trace_of(std::uint32_t id, const HostPosition<Real>& position, bool all) {
  const std::uint64_t sum = trace_of(id, position.r[0], position.r[1]);
  return all ? sum + trace_of(~id, position.r[2], position.r[3]) : sum;
}

// The fourth component of a particle of a type, as HOOMD-blue has it.
template <class Real>
MM_HD Real type_as_real(std::int32_t type) {
  Real stuffed = 0;
  memcpy(&stuffed, &type, sizeof type);
  return stuffed;
}

// Writes a particle of a cell, and its image, to the host program's arrays; returns its part of the
// trace.
template <class Real>
MM_HD std::uint64_t write_host_particle(const Geometry& g, const Frame& f, const int cell[3],
                                        const Sphere& particle, const HostParticles& host) {
  const std::size_t at = host.index[particle.id];
  HostPosition<Real> now = static_cast<const HostPosition<Real>*>(host.position)[at];
  const float local[3] = {particle.x, particle.y, particle.z};
  for (int a = 0; a < 3; ++a) {
    if (a >= f.dimensions) break;
    const Real r = host_coordinate<Real>(g, f, a, cell[a], local[a]);
    if (host.image) {
      if (const int n = crossings(now.r[a], r, f.box[a])) host.image[3 * at + a] += n;
    }
    now.r[a] = r;
  }
  for (std::int32_t type = 0; type < f.types; ++type)
    if (f.of_types[type] == f.of_particles[particle.id]) now.r[3] = type_as_real<Real>(type);
  static_cast<HostPosition<Real>*>(host.position)[at] = now;
  return trace_of(particle.id, now, f.traces_all);
}

// How far a particle may have gone along an axis between two cycles.
inline constexpr std::uint64_t kNever = ~std::uint64_t{0};
inline double reach_of(const State& s, std::uint64_t from, std::uint64_t to) {
  if (from == kNever) return std::numeric_limits<double>::infinity();
  const Grid g = grid_of(s);
  return std::max(g.cell_width[0], g.cell_width[1]) * static_cast<double>(to - from);
}

// Half of a HostPosition. Of equal disks the second half is neither read nor written.
template <class Real>
struct alignas(2 * sizeof(Real)) HostPair {
  Real x, y;
};

namespace equal_disks {

template <class Real>
MM_HD HostPair<Real> host_position(const Geometry& g, const Frame& f, int column, int row,
                                   Position p) {
  return {host_coordinate<Real>(g, f, 0, column, p.x), host_coordinate<Real>(g, f, 1, row, p.y)};
}

// The position at place `at` of a host program's array becomes `r`; the image follows. `reach`: no
// disk has gone farther along an axis since the last time.
template <class Real>
MM_HD void move_host_particle(const Frame& f, double reach, HostPair<Real>* positions,
                              std::int32_t* images, std::size_t at, HostPair<Real> r) {
  const auto near_edge = [&](int axis, Real x) {
    return (x < 0 ? -x : x) + reach >= 0.5 * f.box[axis];
  };
  if (images && (near_edge(0, r.x) || near_edge(1, r.y))) {
    const HostPair<Real> old = positions[2 * at];
    if (const int n = crossings(old.x, r.x, f.box[0])) images[3 * at] += n;
    if (const int n = crossings(old.y, r.y, f.box[1])) images[3 * at + 1] += n;
  }
  positions[2 * at] = r;
}

}  // namespace equal_disks
}  // namespace manymove::hard_particles
