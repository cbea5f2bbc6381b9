// SPDX-License-Identifier: BSD-3-Clause
// The arrays of a host program that keeps its particles as HOOMD-blue does.
#pragma once

#include <cstdint>

#include "../runtime/macros.h"

namespace manymove::dpd {

// In the precision of the host program. The box is periodic, its center is the origin, and the tilt
// factors are xy, xz and yz.
struct HostParticles {
  const std::uint32_t* index;  // [tag - 1]: of the particle in the arrays below
  void *position, *velocity;   // [][4]: x, y, z and a value that stays, of `velocity` the mass
  void* acceleration;          // [][3]
  void* force;                 // [][4]: x, y, z and 0
  std::int32_t (*image)[3];
  double edge[3], tilt[3];
  bool double_precision;
};

// Wraps a place that the host program's precision has rounded to the far face, which is outside.
template <class Scalar>
MM_HD void wrap_for_host(const HostParticles& host, Scalar r[3], std::int32_t image[3]) {
  const Scalar xy = Scalar(host.tilt[0]), xz = Scalar(host.tilt[1]), yz = Scalar(host.tilt[2]);
  const Scalar shift[3][3] = {{1, 0, 0}, {xy, 1, 0}, {xz, yz, 1}};  // an edge over its length
  for (int a = 0; a < 3; ++a) {
    const Scalar length = Scalar(host.edge[a]), high = length / 2;
    Scalar along = r[a];  // relative to the middle between the faces
    if (a == 0) along -= (xz - xy * yz) * r[2] + xy * r[1];
    if (a == 1) along -= yz * r[2];
    const int crossed = along >= high ? 1 : along < -high ? -1 : 0;
    for (int b = 0; b <= a; ++b) r[b] -= Scalar(crossed) * length * shift[a][b];
    image[a] += crossed;
  }
}

// Writes a particle into the arrays. r, v, f, n: its position, velocity, force and image.
template <class Scalar>
MM_HD void write_for_host(const HostParticles& host, std::uint32_t tag, const double r[3],
                          const double v[3], const double f[3], const int n[3]) {
  const std::uint32_t i = host.index[tag - 1];
  auto* const position = static_cast<Scalar(*)[4]>(host.position)[i];
  auto* const velocity = static_cast<Scalar(*)[4]>(host.velocity)[i];
  auto* const acceleration = static_cast<Scalar(*)[3]>(host.acceleration)[i];
  auto* const force = static_cast<Scalar(*)[4]>(host.force)[i];
  Scalar place[3];
  std::int32_t image[3];
  for (int a = 0; a < 3; ++a) {
    place[a] = static_cast<Scalar>(r[a]);
    image[a] = n[a];
  }
  wrap_for_host(host, place, image);
  for (int a = 0; a < 3; ++a) {
    position[a] = place[a];
    velocity[a] = static_cast<Scalar>(v[a]);
    force[a] = static_cast<Scalar>(f[a]);
    acceleration[a] = force[a] / velocity[3];
    host.image[i][a] = image[a];
  }
  force[3] = 0;
}

}  // namespace manymove::dpd
