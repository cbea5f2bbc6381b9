// SPDX-License-Identifier: BSD-3-Clause
// What ranks send each other of a particle, and what of it is in the arrays of its host: the same
// on CPU and GPU.
#pragma once

#include <algorithm>

#include "../parallel/origins.h"
#include "fixed_point.h"

namespace manymove::dpd {

struct Image {  // times that periodic faces were crossed
  int x, y, z;

  MM_HD void add(int along_x, int along_y, int along_z) {
    x += along_x;
    y += along_y;
    z += along_z;
  }
};

// A particle that moves to another rank.
template <Precision P>
struct Migrant {
  typename P::Position position;
  typename P::Velocity velocity;
  Image image;
  Origin origin;
};
// A copy of a particle near the part of another rank, when lists are built, and between builds.
template <Precision P>
struct Ghost {
  typename P::Position position;
  typename P::Velocity velocity;
};
template <Precision P>
struct GhostUpdate {  // without what does not change
  typename P::Unsigned x, y, z;
  typename P::Real vx, vy, vz;

  static MM_HD GhostUpdate of(const typename P::Position& r, const typename P::Velocity& v) {
    return {r.x, r.y, r.z, v.x, v.y, v.z};
  }
  MM_HD void act_on(typename P::Position& r, typename P::Velocity& v) const {
    r.x = x;
    r.y = y;
    r.z = z;
    v.x = vx;
    v.y = vy;
    v.z = vz;
  }
};

template <Precision P>
  requires has_scalars<P>
struct alignas(8) GhostUpdate<P> {  // whole words of carry()
  typename P::Unsigned x, y, z;
  typename P::Real vx, vy, vz;
  Vector<typename P::Real> scalars;  // as pairs read them

  static MM_HD GhostUpdate of(const typename P::Position& r, const typename P::Velocity& v) {
    return {r.x, r.y, r.z, v.x, v.y, v.z, v.scalars_of_pair()};
  }
  MM_HD void act_on(typename P::Position& r, typename P::Velocity& v) const {
    r.x = x;
    r.y = y;
    r.z = z;
    v.x = vx;
    v.y = vy;
    v.z = vz;
    v.set_scalars_of_pair(scalars);
  }
};

// The values of a particle as its host has them, at this index of its arrays.
struct Arrival {
  std::int32_t index;
  double position[3], velocity[3], force[3];
  int image[3];
  double scalars[kScalars], flux[kScalars];

  inline void enter(const HostArrays& arrays) const;
};

// Calls visit(name, array of the host, field of Arrival) for each array of HostArrays.
template <auto member>
struct ArrivalField {
  static constexpr auto of = member;
};
void for_each_field(const HostArrays& arrays, auto&& visit) {
  visit("position", arrays.position, ArrivalField<&Arrival::position>{});
  visit("velocity", arrays.velocity, ArrivalField<&Arrival::velocity>{});
  visit("force", arrays.force, ArrivalField<&Arrival::force>{});
  visit("image", arrays.image, ArrivalField<&Arrival::image>{});
  visit("scalars", arrays.scalars, ArrivalField<&Arrival::scalars>{});
  visit("flux", arrays.flux, ArrivalField<&Arrival::flux>{});
}

void Arrival::enter(const HostArrays& arrays) const {
  for_each_field(arrays, [this](const char*, auto* host, auto field) {
    if (host) std::copy_n(this->*field.of, 3, host[index]);
  });
}

template <class Velocity>
MM_HD Vector<double> scalars_of(const Velocity& velocity) {
  if constexpr (requires { velocity.scalars(); }) return velocity.scalars();
  return {0, 0, 0};
}

template <Precision P>
MM_HD Arrival arrival_of(const BoxFrame& frame, std::int32_t index,
                         const typename P::Position& position, const typename P::Velocity& velocity,
                         const Vector<typename P::Real>& force, const Vector<double>& flux,
                         const Image& image) {
  const auto set = [](auto& to, const auto& from) {
    to[0] = from.x;
    to[1] = from.y;
    to[2] = from.z;
  };
  Arrival arrival;
  arrival.index = index;
  // From integers of the frame to Cartesian coordinates.
  leave_frame<P>(frame, position, arrival.position);
  set(arrival.velocity, velocity);
  set(arrival.force, force);
  set(arrival.image, image);
  set(arrival.scalars, scalars_of(velocity));
  set(arrival.flux, flux);
  return arrival;
}

}  // namespace manymove::dpd
