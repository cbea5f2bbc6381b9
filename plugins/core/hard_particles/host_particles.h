// SPDX-License-Identifier: BSD-3-Clause
// Where the grid lies in the caller's box: positions in its unit, and a host program's arrays.
#pragma once

#include "equal_disks.h"

namespace manymove::hard_particles {

// Where the grid lies in the box.
struct Frame {
  double origin[2], extent[2];  // lower left corner of cell (0, 0); the box; integer units
  double box[2], unit[2];       // edges, and what they are over `extent`
};

// Along an axis, in integer units from the box's lower edge. All of these are integers below 2^53,
// so that nothing rounds.
MM_HD double place_in_box(const Geometry& g, const Frame& f, int axis, int cell, float local) {
  const double center = (2.0 * cell + 1.0) * static_cast<double>(g.half[axis]);
  const double x = f.origin[axis] + center + static_cast<double>(local);
  return x >= f.extent[axis] ? x - f.extent[axis] : x;
}

// In [-L/2, L/2), the same everywhere.
MM_HD double coordinate(const Frame& f, int axis, double x) {
  return multiply_add_unfused(x, f.unit[axis], -0.5 * f.box[axis]);
}

template <class Real>
struct alignas(2 * sizeof(Real)) HostPair {
  Real x, y;
};

// What a host program is given; a float32 that rounds to the upper edge is kept below it.
template <class Real>
MM_HD HostPair<Real> host_position(const Geometry& g, const Frame& f, int column, int row,
                                   Position p) {
  const auto along = [&](int axis, int cell, float local) {
    const auto r = static_cast<Real>(coordinate(f, axis, place_in_box(g, f, axis, cell, local)));
    const auto edge = static_cast<Real>(0.5 * f.box[axis]);
    return r < edge ? r : edge * (1 - (sizeof(Real) == 4 ? Real(1.2e-7) : Real(2.3e-16)));
  };
  return {along(0, column, p.x), along(1, row, p.y)};
}

// Crossings of the periodic boundary on the shortest way from one coordinate to another.
template <class Real>
MM_HD int crossings(Real from, Real to, double box) {
  const double d = static_cast<double>(to) - static_cast<double>(from);
  return d > 0.5 * box ? -1 : d < -0.5 * box ? 1 : 0;
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

// The sum of these over all disks tells whether one of them has been moved. Products of 32-bit
// words with keys of the disk, as in the hash NH (J. Black, S. Halevi, H. Krawczyk, T. Krovetz, P.
// Rogaway, CRYPTO '99), cost a tenth of what murmur_mix() would. Each word is in two products.
template <class Real>
MM_HD std::uint64_t trace_of(std::uint32_t id, HostPair<Real> r) {
  const std::uint32_t key = id + 1;
  const auto low = [](std::uint64_t bits) { return static_cast<std::uint32_t>(bits); };
  const auto high = [](std::uint64_t bits) { return static_cast<std::uint32_t>(bits >> 32); };
  const auto product = [](std::uint32_t a, std::uint32_t b) { return std::uint64_t{a} * b; };
  const std::uint64_t x = bits_of(r.x), y = bits_of(r.y);
  return product(low(x) + key * 0x9e3779b1u, high(x) + key * 0x85ebca77u) +
         product(low(y) + key * 0xc2b2ae3du, high(y) + key * 0x27d4eb2fu) +
         product(low(x) + key * 0x165667b1u, low(y) + key * 0xd3a2646du) +
         product(high(x) + key * 0xfd7046c5u, high(y) + key * 0xb55a4f09u);
}

}  // namespace manymove::hard_particles
