// SPDX-License-Identifier: BSD-3-Clause
// The particles of a host program: positions in its unit, written to its arrays and known again.
#pragma once

#include "../runtime/fingerprint.h"
#include "host_particles.h"
#include "particles.h"
#include "state.h"

namespace manymove::hard_particles::particles {

// Where the grid lies in the box.
struct HostFrame {
  int dimensions;
  std::int64_t origin[3], extent[3];  // lower corner of the first cell; the box; integer units
  double box[3], unit[3];             // edges, and what they are over `extent`
  // With swap moves the diameters of the host program's particle types and of the particles, of
  // which types follow; otherwise `types` is 0.
  int types;
  const double *of_types, *of_particles;
};

inline HostFrame host_frame(const State& s, const std::array<std::int64_t, 3>& origin) {
  HostFrame f{};
  f.dimensions = s.dimensions();
  for (int a = 0; a < f.dimensions; ++a) {
    f.origin[a] = origin[a];
    f.extent[a] = s.extent[a];
    f.box[a] = s.parameters.box[a];
    f.unit[a] = f.box[a] / static_cast<double>(f.extent[a]);
  }
  f.types = static_cast<int>(s.type_diameters.size());
  f.of_types = s.type_diameters.data();
  f.of_particles = s.parameters.diameters.data();
  return f;
}

// A position as a host program has it, with a fourth component that belongs to the host program.
template <class Real>
struct alignas(2 * sizeof(Real)) HostPosition {
  Real r[4];
};

// The sum of these over all particles tells whether one of them has been changed.
template <class Real>
MM_HD std::uint64_t trace_of(std::uint32_t id, const HostPosition<Real>& position) {
  std::uint64_t h = murmur_mix(id + std::uint64_t{1});
  for (const Real component : position.r) {
    std::uint64_t bits = 0;
    memcpy(&bits, &component, sizeof component);
    h = murmur_mix(h ^ bits);
  }
  return h;
}

// The fourth component of a particle of a type, as HOOMD-blue has it.
template <class Real>
MM_HD Real type_as_real(std::int32_t type) {
  Real stuffed = 0;
  memcpy(&stuffed, &type, sizeof type);
  return stuffed;
}

// Writes a particle of a cell, and its image, to the host program's arrays; returns its part of the
// trace. A float32 that rounds to the upper edge of the box is kept below it.
template <class Real>
MM_HD std::uint64_t write_host_particle(const Geometry& g, const HostFrame& f, const int cell[3],
                                        const Sphere& particle, const HostParticles& host) {
  const std::size_t at = host.index[particle.id];
  HostPosition<Real> now = static_cast<const HostPosition<Real>*>(host.position)[at];
  const float local[3] = {particle.x, particle.y, particle.z};
  for (int a = 0; a < 3; ++a) {
    if (a >= f.dimensions) break;
    std::int64_t x = f.origin[a] + (2 * cell[a] + 1) * static_cast<std::int64_t>(g.half[a]) +
                     static_cast<std::int64_t>(local[a]);
    if (x >= f.extent[a]) x -= f.extent[a];
    auto r =
        static_cast<Real>(multiply_add_unfused(static_cast<double>(x), f.unit[a], -0.5 * f.box[a]));
    const auto edge = static_cast<Real>(0.5 * f.box[a]);
    if (r >= edge) r = edge * (1 - (sizeof(Real) == 4 ? Real(1.2e-7) : Real(2.3e-16)));
    if (host.image) {
      if (const int n = crossings(now.r[a], r, f.box[a])) host.image[3 * at + a] += n;
    }
    now.r[a] = r;
  }
  for (std::int32_t type = 0; type < f.types; ++type)
    if (f.of_types[type] == f.of_particles[particle.id]) now.r[3] = type_as_real<Real>(type);
  static_cast<HostPosition<Real>*>(host.position)[at] = now;
  return trace_of(particle.id, now);
}

}  // namespace manymove::hard_particles::particles
